#include "helpers/bind_memory.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <vector>

#include "text/cpu_bind.h"
#include "text/mem_bind.h"

namespace minke::helpers {
namespace {

constexpr uint32_t kMostNodes = 1024;
constexpr uint32_t kBits = sizeof(unsigned long) * CHAR_BIT;
using NodeMask = std::array<unsigned long, kMostNodes / kBits>;

std::vector<uint32_t> allowed_nodes() {
  NodeMask mask{};
  if (::syscall(SYS_get_mempolicy, nullptr, mask.data(), kMostNodes, nullptr, MPOL_F_MEMS_ALLOWED) != 0)
    return {};
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < kMostNodes; ++node)
    if ((mask[node / kBits] >> node % kBits & 1) != 0) nodes.push_back(node);
  return nodes;
}

// Returns the nodes of the processors that this process may use.
std::vector<uint32_t> local_nodes() {
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return {};
  std::vector<uint32_t> nodes;
  for (const uint32_t node : allowed_nodes()) {
    bool near = false;
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE && !near; ++cpu) {
      const std::string link =
          "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/node" + std::to_string(node);
      near = CPU_ISSET(cpu, &cpus) && ::access(link.c_str(), F_OK) == 0;
    }
    if (near) nodes.push_back(node);
  }
  return nodes;
}

bool bind_to(const std::vector<uint32_t>& nodes, bool prefer) {
  NodeMask mask{};
  for (const uint32_t node : nodes) {
    if (node >= kMostNodes) return errno = EINVAL, false;
    mask[node / kBits] |= 1UL << node % kBits;
  }
  return ::syscall(SYS_set_mempolicy, prefer ? MPOL_PREFERRED : MPOL_BIND, mask.data(), kMostNodes) == 0;
}

const char* kind_text(text::MemBind::Kind kind) {
  switch (kind) {
    case text::MemBind::kNone:
      return "=NONE";
    case text::MemBind::kLocal:
      return "=LOC ";
    case text::MemBind::kRank:
      return "=RANK";
    case text::MemBind::kMap:
      return "=MAP ";
    case text::MemBind::kMask:
      return "=MASK";
    case text::MemBind::kUnset:
      break;
  }
  return "=NULL";
}

}  // namespace

void bind_memory(const std::string& text, uint32_t rank, uint32_t local_id, const std::string& node) {
  const auto bind = text::parse_mem_bind(text);
  if (!bind) return;
  std::vector<uint32_t> wanted;
  if (bind->kind == text::MemBind::kLocal) wanted = local_nodes();
  if (bind->kind == text::MemBind::kRank) wanted = {local_id};
  if (!bind->nodes.empty()) wanted = bind->nodes[local_id % bind->nodes.size()];
  const bool bound = !wanted.empty() && bind_to(wanted, bind->prefer);
  if (!wanted.empty() && !bound) {
    std::fprintf(stderr, "slurmstepd: error: set_mempolicy(%s): %s\n", text::format_cpu_mask(wanted).c_str(),
                 std::strerror(errno));
  }
  if (!bind->verbose) return;
  std::fprintf(stderr, "mem-bind%s - %s, task %2u %2u [%d]: mask %s%s\n", kind_text(bind->kind), node.c_str(),
               rank, local_id, static_cast<int>(::getpid()),
               text::format_cpu_mask(bound ? wanted : allowed_nodes()).c_str(), bound ? " set" : "");
}

}  // namespace minke::helpers
