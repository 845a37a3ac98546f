#include "node/discovery.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "model/cluster.pb.h"

namespace minke::node {
namespace {

using CpuSet = std::set<uint32_t>;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<uint64_t> to_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::optional<uint64_t> read_number(const std::string& path) {
  return to_number(read_text(path));
}

// The number after "Name:" in a file of such lines.
uint64_t number_behind(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) return to_number(std::string_view(line).substr(name.size())).value_or(0);
  }
  return 0;
}

// Parses "0-3,8,10-11"; nothing if it is no such list.
std::optional<CpuSet> parse_cpu_list(const std::string& text) {
  CpuSet cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    auto first = to_number(part);
    if (!first) return std::nullopt;
    auto dash = part.find('-');
    auto last = dash == std::string::npos ? first : to_number(std::string_view(part).substr(dash + 1));
    if (!last || *last > 1'000'000) return std::nullopt;
    for (uint64_t cpu = *first; cpu <= *last; ++cpu) cpus.insert(static_cast<uint32_t>(cpu));
  }
  if (cpus.empty()) return std::nullopt;
  return cpus;
}

CpuSet kernel_affinity() {
  for (size_t most = 1024; most <= 1 << 20; most *= 4) {
    cpu_set_t* set = CPU_ALLOC(most);
    size_t bytes = CPU_ALLOC_SIZE(most);
    bool fits = ::sched_getaffinity(0, bytes, set) == 0;
    CpuSet cpus;
    for (uint32_t cpu = 0; fits && cpu < most; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.insert(cpu);
    }
    CPU_FREE(set);
    if (fits) return cpus;
  }
  return {0};
}

// The limits of the control groups that this process is in.
struct OwnGroupLimits {
  uint64_t whole_cpus = UINT64_MAX;
  uint64_t memory_bytes = UINT64_MAX;
  std::optional<CpuSet> cpus;

  void limit_cpus(const CpuSet& allowed) {
    if (!cpus) {
      cpus = allowed;
    } else {
      std::erase_if(*cpus, [&](uint32_t cpu) { return !allowed.contains(cpu); });
    }
  }
  void limit_time(uint64_t quota, uint64_t period) {
    if (period != 0) whole_cpus = std::min(whole_cpus, std::max<uint64_t>(1, quota / period));
  }
};

void read_group_v2(const std::string& directory, OwnGroupLimits& limits) {
  std::istringstream time(read_text(directory + "/cpu.max"));  // "max 100000" or "150000 100000"
  std::string quota;
  uint64_t period = 0;
  time >> quota >> period;
  if (auto number = to_number(quota)) limits.limit_time(*number, period);
  if (auto bytes = read_number(directory + "/memory.max"))
    limits.memory_bytes = std::min(limits.memory_bytes, *bytes);
  if (auto cpus = parse_cpu_list(read_text(directory + "/cpuset.cpus.effective"))) limits.limit_cpus(*cpus);
}

void read_group_v1(const std::string& directory, OwnGroupLimits& limits) {
  auto quota = read_number(directory + "/cpu.cfs_quota_us");  // -1: none; it does not parse as a number here
  auto period = read_number(directory + "/cpu.cfs_period_us");
  if (quota && period) limits.limit_time(*quota, *period);
  if (auto bytes = read_number(directory + "/memory.limit_in_bytes")) {
    limits.memory_bytes = std::min(limits.memory_bytes, *bytes);
  }
  if (auto cpus = parse_cpu_list(read_text(directory + "/cpuset.effective_cpus"))) limits.limit_cpus(*cpus);
}

struct Mount {
  std::string root;  // of the hierarchy, as seen here
  std::string point;
  bool v2 = false;
  std::string controllers;  // of version 1, in the mount's options
};

std::vector<Mount> group_mounts(const DiscoveryOptions& options) {
  std::vector<Mount> mounts;
  std::istringstream lines(read_text(options.proc + "/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    // 25 21 0:22 /root /mount/point options … - type source superblock,options
    std::istringstream words(line);
    std::string word;
    Mount mount;
    for (int i = 0; i < 3; ++i) words >> word;
    words >> mount.root >> mount.point;
    while (words >> word && word != "-") {
    }
    std::string type;
    std::string source;
    words >> type >> source >> mount.controllers;
    if (type != "cgroup" && type != "cgroup2") continue;
    mount.v2 = type == "cgroup2";
    mount.controllers = "," + mount.controllers + ",";
    if (mount.point.starts_with("/sys/")) mount.point = options.sys + mount.point.substr(4);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

OwnGroupLimits group_limits(const DiscoveryOptions& options) {
  OwnGroupLimits limits;
  auto mounts = group_mounts(options);
  std::istringstream lines(read_text(options.proc + "/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    // 0::/path of version 2, or 4:cpu,cpuacct:/path
    auto first = line.find(':');
    auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    bool v2 = controllers.empty();
    std::string wanted = "," + controllers.substr(0, controllers.find(',')) + ",";
    for (const Mount& mount : mounts) {
      if (mount.v2 != v2 || (!v2 && mount.controllers.find(wanted) == std::string::npos)) continue;
      std::string below = path;
      if (mount.root != "/" && below.starts_with(mount.root)) below = below.substr(mount.root.size());
      if (below == "/") below.clear();
      // A limit of any group above applies as well.
      for (;;) {
        v2 ? read_group_v2(mount.point + below, limits) : read_group_v1(mount.point + below, limits);
        if (below.empty()) break;
        below.resize(below.rfind('/') == std::string::npos ? 0 : below.rfind('/'));
      }
    }
  }
  return limits;
}

struct Topology {
  uint32_t sockets = 1;
  uint32_t cores_per_socket = 1;
  uint32_t threads_per_core = 1;
};

Topology topology_of(const CpuSet& cpus, uint32_t count, const DiscoveryOptions& options) {
  std::map<uint64_t, std::map<uint64_t, uint32_t>> sockets;  // socket -> core -> threads
  for (uint32_t cpu : cpus) {
    std::string directory = options.sys + "/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    auto socket = read_number(directory + "physical_package_id");
    auto core = read_number(directory + "core_id");
    ++sockets[socket.value_or(0)][core.value_or(cpu)];
  }
  const auto& some_socket = sockets.begin()->second;
  auto cores = static_cast<uint32_t>(some_socket.size());
  uint32_t threads = some_socket.begin()->second;
  bool regular = std::all_of(sockets.begin(), sockets.end(), [&](const auto& socket) {
    return socket.second.size() == cores &&
           std::all_of(socket.second.begin(), socket.second.end(),
                       [&](const auto& core) { return core.second == threads; });
  });
  if (!regular) return {1, count, 1};
  if (count == cpus.size()) return {static_cast<uint32_t>(sockets.size()), cores, threads};
  if (count % threads == 0) return {1, count / threads, threads};  // a quota leaves fewer
  return {1, count, 1};
}

}  // namespace

void refresh_load(model::NodeRecord& node, const DiscoveryOptions& options) {
  node.set_cpu_load(std::strtod(read_text(options.proc + "/loadavg").c_str(), nullptr));
  node.set_free_memory_mib(number_behind(read_text(options.proc + "/meminfo"), "MemFree:") / 1024);
}

model::NodeRecord discover_machine(const DiscoveryOptions& options) {
  model::NodeRecord node;
  OwnGroupLimits limits = group_limits(options);

  CpuSet cpus =
      options.affinity ? CpuSet(options.affinity->begin(), options.affinity->end()) : kernel_affinity();
  if (limits.cpus) {
    CpuSet both;
    for (uint32_t cpu : cpus) {
      if (limits.cpus->contains(cpu)) both.insert(cpu);
    }
    if (!both.empty()) cpus = both;
  }
  if (cpus.empty()) cpus = {0};
  auto count = static_cast<uint32_t>(std::min<uint64_t>(cpus.size(), limits.whole_cpus));
  Topology topology = topology_of(cpus, count, options);
  node.set_cpus(count);
  node.set_boards(1);
  node.set_sockets(topology.sockets);
  node.set_cores_per_socket(topology.cores_per_socket);
  node.set_threads_per_core(topology.threads_per_core);

  uint64_t memory_kib = number_behind(read_text(options.proc + "/meminfo"), "MemTotal:");
  node.set_memory_mib(std::min(memory_kib / 1024, limits.memory_bytes >> 20));
  struct statvfs file_system {};
  if (::statvfs(options.tmp.c_str(), &file_system) == 0) {
    node.set_tmp_disk_mib(uint64_t{file_system.f_blocks} * file_system.f_frsize >> 20);
  }

  struct utsname system {};
  ::uname(&system);
  std::string host = system.nodename;
  host.resize(std::min(host.size(), host.find('.')));
  if (host.empty()) host = "localhost";
  node.set_name(host);
  node.set_address(host);
  node.set_host_name(host);
  node.set_architecture(system.machine);
  node.set_os(std::string(system.sysname) + " " + system.release + " " + system.version);
  node.set_boot_time(static_cast<int64_t>(number_behind(read_text(options.proc + "/stat"), "btime ")));
  refresh_load(node, options);
  return node;
}

}  // namespace minke::node
