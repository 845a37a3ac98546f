#include "node/device_filter.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace minke::node {
namespace {

constexpr size_t kMostDevices = 1024;

bpf_insn instruction(uint8_t code, uint8_t target, uint8_t source, int16_t offset, int32_t value) {
  bpf_insn made{};
  made.code = code;
  made.dst_reg = target & 0xf;
  made.src_reg = source & 0xf;
  made.off = offset;
  made.imm = value;
  return made;
}

bpf_insn load(uint8_t target, size_t field) {  // of the context, which register 1 points to
  return instruction(BPF_LDX | BPF_W | BPF_MEM, target, BPF_REG_1, static_cast<int16_t>(field), 0);
}
bpf_insn unless_equal(uint8_t left, int32_t value, int16_t skip) {
  return instruction(BPF_JMP | BPF_JNE | BPF_K, left, 0, skip, value);
}
bpf_insn set_answer(int32_t allowed) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, allowed);
}
bpf_insn leave() {
  return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

// Returns 0 for a listed character device, whatever the access, and 1 for everything else.
std::vector<bpf_insn> program_of(const std::vector<dev_t>& hidden) {
  std::vector<bpf_insn> program = {
      load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, major)),
      load(BPF_REG_3, offsetof(bpf_cgroup_dev_ctx, minor)),
      load(BPF_REG_4, offsetof(bpf_cgroup_dev_ctx, access_type)),
      instruction(BPF_ALU | BPF_AND | BPF_K, BPF_REG_4, 0, 0,
                  0xffff),  // its lower half is the kind of device
      instruction(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_4, 0, 2, BPF_DEVCG_DEV_CHAR),
      set_answer(1),
      leave(),
  };
  for (const dev_t device : hidden) {
    program.push_back(unless_equal(BPF_REG_2, static_cast<int32_t>(gnu_dev_major(device)), 3));
    program.push_back(unless_equal(BPF_REG_3, static_cast<int32_t>(gnu_dev_minor(device)), 2));
    program.push_back(set_answer(0));
    program.push_back(leave());
  }
  program.push_back(set_answer(1));
  program.push_back(leave());
  return program;
}

long call_bpf(bpf_cmd command, bpf_attr& attributes) {
  return ::syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

Result<os::UniqueFd> open_filter(uint32_t number) {
  bpf_attr attributes{};
  attributes.prog_id = number;
  os::UniqueFd opened(static_cast<int>(call_bpf(BPF_PROG_GET_FD_BY_ID, attributes)));
  if (!opened) return failure_from_errno("bpf(BPF_PROG_GET_FD_BY_ID)", errno);
  return opened;
}

}  // namespace

Result<os::UniqueFd> load_device_filter(const std::vector<dev_t>& hidden, const std::string& name) {
  if (hidden.size() > kMostDevices) return failure("too many devices for one filter", E2BIG);
  const std::vector<bpf_insn> program = program_of(hidden);
  static constexpr char kLicense[] = "";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = reinterpret_cast<uint64_t>(program.data());
  attributes.insn_cnt = static_cast<uint32_t>(program.size());
  attributes.license = reinterpret_cast<uint64_t>(kLicense);
  name.copy(attributes.prog_name, sizeof attributes.prog_name - 1);
  os::UniqueFd loaded(static_cast<int>(call_bpf(BPF_PROG_LOAD, attributes)));
  if (!loaded) return failure_from_errno("bpf(BPF_PROG_LOAD)", errno);
  return loaded;
}

Status attach_device_filter(const std::string& directory, const std::vector<dev_t>& hidden,
                            const std::string& name) {
  const auto program = load_device_filter(hidden, name);
  if (!program) return failure(program.error());
  const os::UniqueFd group(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!group) return failure_from_errno(directory, errno);
  bpf_attr attributes{};
  attributes.target_fd = static_cast<uint32_t>(group.get());
  attributes.attach_bpf_fd = static_cast<uint32_t>(program->get());
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = BPF_F_ALLOW_MULTI;  // beside what systemd may have attached
  if (call_bpf(BPF_PROG_ATTACH, attributes) != 0) return failure_from_errno("bpf(BPF_PROG_ATTACH)", errno);
  return {};
}

Result<std::vector<uint32_t>> find_device_filters(const std::string& directory, const std::string& name) {
  constexpr uint32_t kMostFilters = 64;  // that the kernel attaches to one group
  const os::UniqueFd group(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!group) return failure_from_errno(directory, errno);
  std::vector<uint32_t> attached(kMostFilters), found;
  bpf_attr attributes{};
  attributes.query.target_fd = static_cast<uint32_t>(group.get());
  attributes.query.attach_type = BPF_CGROUP_DEVICE;
  attributes.query.prog_ids = reinterpret_cast<uint64_t>(attached.data());
  attributes.query.prog_cnt = kMostFilters;
  if (call_bpf(BPF_PROG_QUERY, attributes) != 0) return failure_from_errno("bpf(BPF_PROG_QUERY)", errno);
  attached.resize(attributes.query.prog_cnt);
  for (const uint32_t number : attached) {
    const auto program = open_filter(number);
    if (!program) continue;  // detached meanwhile
    bpf_prog_info told{};
    bpf_attr question{};
    question.info.bpf_fd = static_cast<uint32_t>(program->get());
    question.info.info_len = sizeof told;
    question.info.info = reinterpret_cast<uint64_t>(&told);
    if (call_bpf(BPF_OBJ_GET_INFO_BY_FD, question) == 0 && name == told.name) found.push_back(number);
  }
  return found;
}

Status detach_device_filters(const std::string& directory, const std::vector<uint32_t>& filters) {
  const os::UniqueFd group(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!group) return failure_from_errno(directory, errno);
  for (const uint32_t number : filters) {
    const auto program = open_filter(number);
    if (!program) continue;
    bpf_attr attributes{};
    attributes.target_fd = static_cast<uint32_t>(group.get());
    attributes.attach_bpf_fd = static_cast<uint32_t>(program->get());
    attributes.attach_type = BPF_CGROUP_DEVICE;
    if (call_bpf(BPF_PROG_DETACH, attributes) != 0) return failure_from_errno("bpf(BPF_PROG_DETACH)", errno);
  }
  return {};
}

}  // namespace minke::node
