#include "node/spawn_preparation.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "node/launch.pb.h"

namespace minke::node {
namespace {

constexpr char kDefaultPath[] = "/usr/local/bin:/usr/bin:/bin";
constexpr char kTaskPid[] = "SLURM_TASK_PID=";
constexpr size_t kPidDigits = 12;

constexpr struct {
  const char* name;
  int resource;
} kLimits[] = {
    {"CPU", RLIMIT_CPU},         {"FSIZE", RLIMIT_FSIZE}, {"DATA", RLIMIT_DATA},   {"STACK", RLIMIT_STACK},
    {"CORE", RLIMIT_CORE},       {"RSS", RLIMIT_RSS},     {"NPROC", RLIMIT_NPROC}, {"NOFILE", RLIMIT_NOFILE},
    {"MEMLOCK", RLIMIT_MEMLOCK}, {"AS", RLIMIT_AS},
};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::vector<char*> texts_of(const auto& list, LaunchMemory& memory) {
  std::vector<char*> texts;
  for (const std::string& text : list) texts.push_back(memory.text(text));
  return texts;
}

char** list_of(std::vector<char*> texts, LaunchMemory& memory) {
  texts.push_back(nullptr);
  return memory.copy(std::span<char* const>(texts));
}

// What all tasks of the launch share.
struct Common {
  std::vector<char*> environment;  // of the order, one text each
  char* marker = nullptr;
  char* work_dir = nullptr;
  char* error_prefix = nullptr;
  std::vector<char*> argv;
  const ChildLimit* limits = nullptr;
  size_t limit_count = 0;
  const gid_t* groups = nullptr;
  const ChildBind* binds = nullptr;
  std::vector<const cpu_set_t*> cpu_masks;  // by place; null: not bound
};

// The environment's entries, each with a NUL at its end.
std::vector<char*> variables_of(const std::string& block, LaunchMemory& memory) {
  std::vector<char*> variables;
  char* const copy = memory.text(block);
  for (size_t at = 0; at < block.size();) {
    const size_t length = std::strlen(copy + at);
    if (length != 0) variables.push_back(copy + at);
    at += length + 1;
  }
  return variables;
}

const ChildLimit* limits_of(const LaunchOrder& order, LaunchMemory& memory, size_t& count) {
  std::vector<ChildLimit> limits;
  for (const auto& asked : order.resource_limits()) {
    for (const auto& known : kLimits) {
      if (asked.name() == known.name) limits.push_back({known.resource, asked.soft()});
    }
  }
  count = limits.size();
  return memory.copy(std::span<const ChildLimit>(limits));
}

const ChildBind* binds_of(const std::vector<Bind>& binds, LaunchMemory& memory) {
  auto* copies = memory.array<ChildBind>(binds.size());
  for (size_t i = 0; i < binds.size(); ++i)
    copies[i] = {memory.text(binds[i].source), memory.text(binds[i].target), binds[i].read_only};
  return copies;
}

const cpu_set_t* mask_of(const std::vector<uint32_t>& numbers, LaunchMemory& memory) {
  if (numbers.empty()) return nullptr;
  auto* mask = memory.array<cpu_set_t>(1);
  CPU_ZERO(mask);
  for (const uint32_t number : numbers) CPU_SET(number, mask);
  return mask;
}

Common common_of(const LaunchOrder& order, const std::string& marker, const Confinement& confinement,
                 LaunchMemory& memory) {
  Common common;
  common.environment = variables_of(order.environment(), memory);
  common.marker = memory.text(marker);
  common.work_dir = memory.text(order.work_dir());
  common.error_prefix = memory.text(order.script_error_prefix());
  common.argv = texts_of(order.argv(), memory);
  common.limits = limits_of(order, memory, common.limit_count);
  const std::vector<gid_t> groups(order.identity().groups().begin(), order.identity().groups().end());
  common.groups = memory.copy(std::span<const gid_t>(groups));
  common.binds = binds_of(confinement.binds, memory);
  for (const std::vector<uint32_t>& numbers : confinement.cpus)
    common.cpu_masks.push_back(mask_of(numbers, memory));
  return common;
}

void prepare_environment(ChildBlock& block, const Common& common, const TaskOrder& order,
                         LaunchMemory& memory) {
  char* const task_pid = memory.array<char>(sizeof kTaskPid - 1 + kPidDigits);
  std::memcpy(task_pid, kTaskPid, sizeof kTaskPid - 1);
  block.pid_digits = task_pid + sizeof kTaskPid - 1;
  std::unordered_set<std::string_view> replaced = {name_of(kTaskPid), name_of(common.marker)};
  for (const std::string& variable : order.environment()) replaced.insert(name_of(variable));
  std::vector<char*> environment;
  for (char* variable : common.environment)
    if (!replaced.contains(name_of(variable))) environment.push_back(variable);
  // If a name occurs several times, the last entry counts.
  std::unordered_set<std::string_view> seen = {name_of(kTaskPid), name_of(common.marker)};
  for (int i = order.environment_size() - 1; i >= 0; --i) {
    const std::string& variable = order.environment(i);
    if (seen.insert(name_of(variable)).second) environment.push_back(memory.text(variable));
  }
  environment.push_back(task_pid);
  environment.push_back(common.marker);
  block.environment = list_of(std::move(environment), memory);
}

// Candidates in the order of PATH, as execvp tries them, and last the working directory. The
// child checks which of them exist.
void prepare_programs(ChildBlock& block, const std::string& program, const std::string& work_dir,
                      LaunchMemory& memory) {
  std::vector<char*> candidates;
  if (program.empty() || program.find('/') != std::string::npos) {
    // "./a.out" gets its whole path, so that it finds itself from any directory.
    candidates.push_back(memory.text(program.starts_with('.') ? work_dir + "/" + program : program));
    block.programs = list_of(std::move(candidates), memory);
    return;
  }
  std::string_view path = kDefaultPath;
  for (char* const* variable = block.environment; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "PATH=", 5) == 0) path = *variable + 5;
  }
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    const std::string_view directory = path.substr(at, end - at);
    candidates.push_back(memory.text(std::string(directory.empty() ? "." : directory) + "/" + program));
    at = end + 1;
  }
  candidates.push_back(memory.text(work_dir + "/" + program));
  block.programs = list_of(std::move(candidates), memory);
}

void prepare_stream(ChildStream& stream, const StreamOrder& order, int direction,
                    const std::vector<os::UniqueFd>& descriptors, LaunchMemory& memory) {
  if (order.has_descriptor()) {
    MINKE_CHECK(order.descriptor() < descriptors.size());
    stream.descriptor = descriptors[order.descriptor()].get();
  } else if (!order.path().empty()) {
    stream.path = memory.text(order.path());
    stream.flags = direction | O_CLOEXEC | O_NOCTTY;
    if (direction == O_WRONLY) stream.flags |= O_CREAT | O_APPEND | (order.append() ? 0 : O_TRUNC);
  }
}

void prepare_streams(ChildBlock& block, const TaskOrder& order, const std::vector<os::UniqueFd>& descriptors,
                     LaunchMemory& memory) {
  prepare_stream(block.streams[0], order.stdin(), O_RDONLY, descriptors, memory);
  prepare_stream(block.streams[1], order.stdout(), O_WRONLY, descriptors, memory);
  const StreamOrder& out = order.stdout();
  const StreamOrder& err = order.stderr();
  const bool same_file =
      !err.has_descriptor() && !out.has_descriptor() && !err.path().empty() && err.path() == out.path();
  if (err.same_as_stdout() || same_file) {
    block.streams[2].same_as_stdout = true;
  } else {
    prepare_stream(block.streams[2], err, O_WRONLY, descriptors, memory);
  }
}

// Tasks that write to one file: the first truncates it if requested, the others append. Each opens it
// only after the task before it has.
void share_files(std::vector<PreparedTask>& tasks) {
  std::unordered_map<std::string_view, size_t> opened;  // path -> task that opens it first
  for (size_t i = 0; i < tasks.size(); ++i) {
    for (int number = 1; number <= 2; ++number) {
      ChildStream& stream = tasks[i].block->streams[number];
      if (stream.path == nullptr) continue;
      const auto [first, is_new] = opened.try_emplace(stream.path, i);
      if (is_new || first->second == i) continue;
      stream.flags = (stream.flags & ~O_TRUNC) | O_APPEND;
      for (int other = 1; other <= 2; ++other) {
        ChildStream& earlier = tasks[first->second].block->streams[other];
        if (earlier.path != nullptr && std::string_view(earlier.path) == stream.path)
          earlier.flags |= O_APPEND;
      }
      tasks[i].after_previous = true;
    }
  }
}

void prepare_place(ChildBlock& block, const LaunchOrder& order, uint32_t place, const Common& common,
                   const Confinement& confinement, LaunchMemory& memory) {
  block.network = confinement.network;
  block.users = confinement.users;
  block.mounts = confinement.mounts;
  block.binds = common.binds;
  block.bind_count = confinement.binds.size();
  if (place < common.cpu_masks.size() && common.cpu_masks[place] != nullptr) {
    block.cpu_mask = common.cpu_masks[place];
    block.cpu_mask_bytes = sizeof(cpu_set_t);
  }
  if (!confinement.host_names || static_cast<int>(place) >= order.places_size()) return;
  const std::string& name = order.places(static_cast<int>(place)).host_name();
  if (name.empty()) return;
  block.host_name = memory.text(name);
  block.host_name_length = name.size();
}

void prepare_identity(ChildBlock& block, const LaunchOrder& order, const Common& common) {
  block.has_identity = order.has_identity();
  block.uid = order.identity().uid();
  block.gid = order.identity().gid();
  block.groups = common.groups;
  block.group_count = static_cast<size_t>(order.identity().groups_size());
}

}  // namespace

std::vector<PreparedTask> prepare_tasks(const LaunchOrder& order, const std::string& marker,
                                        const std::vector<os::UniqueFd>& descriptors,
                                        const Confinement& confinement, LaunchMemory& memory) {
  const Common common = common_of(order, marker, confinement, memory);
  std::vector<PreparedTask> tasks;
  for (const TaskOrder& task : order.tasks()) {
    ChildBlock& block = *memory.array<ChildBlock>(1);
    const bool own_words = task.argv_size() > 0;
    block.argv = list_of(own_words ? texts_of(task.argv(), memory) : common.argv, memory);
    prepare_environment(block, common, task, memory);
    prepare_programs(block, own_words ? task.argv(0) : order.argv(0), order.work_dir(), memory);
    prepare_streams(block, task, descriptors, memory);
    prepare_place(block, order, task.place(), common, confinement, memory);
    prepare_identity(block, order, common);
    block.work_dir = common.work_dir;
    block.umask = order.umask();
    block.controlling_terminal = order.controlling_terminal();
    block.limits = common.limits;
    block.limit_count = common.limit_count;
    block.error_prefix = common.error_prefix;
    tasks.push_back({&block, task.place(), false});
  }
  share_files(tasks);
  return tasks;
}

}  // namespace minke::node
