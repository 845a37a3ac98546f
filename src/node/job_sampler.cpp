#include "node/job_sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "node/job_groups.h"
#include "node/launch.pb.h"
#include "node/process_tree.h"
#include "node/process_usage.h"

namespace minke::node {
namespace {

// Reads a whole small file in one read(2).
std::string_view read_small(const std::string& path, std::vector<char>& buffer) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
  return count <= 0 ? std::string_view() : std::string_view(buffer.data(), static_cast<size_t>(count));
}

uint64_t number_at(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Reads a value from lines "key number" or "key: number".
uint64_t value_of(std::string_view text, std::string_view key) {
  for (size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with(key) && line.size() > key.size()) return number_at(line.substr(key.size()));
    at += line.size() + 1;
  }
  return 0;
}

// Visits the directory and those below it.
template <typename Visit>
void each_directory(const std::string& directory, Visit visit) {
  visit(directory);
  DIR* listing = ::opendir(directory.c_str());
  if (listing == nullptr) return;
  std::vector<std::string> below;
  while (const dirent* entry = ::readdir(listing)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') below.push_back(directory + "/" + entry->d_name);
  }
  ::closedir(listing);
  for (const std::string& one : below) each_directory(one, visit);
}

// Whether the zone is a processor package: "intel-rapl:0", but not its part "intel-rapl:0:1".
bool is_package(std::string_view zone) {
  return zone.starts_with("intel-rapl:") && zone.find(':', 11) == std::string_view::npos;
}

std::vector<char>& shared_buffer() {
  thread_local std::vector<char> buffer(1 << 16);
  return buffer;
}

constexpr uint32_t kMostAskedForProcessors = 256;

void add_processors(pid_t pid, std::set<uint32_t>& processors) {
  cpu_set_t allowed;
  if (::sched_getaffinity(pid, sizeof allowed, &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) processors.insert(static_cast<uint32_t>(cpu));
}

// user nice system idle iowait irq softirq steal guest …: what was busy, in clock ticks.
uint64_t busy_ticks(std::string_view times) {
  uint64_t busy = 0;
  for (int field = 0; field < 8; ++field) {
    while (!times.empty() && times.front() == ' ') times.remove_prefix(1);
    if (field != 3 && field != 4 && field != 7) busy += number_at(times);
    times.remove_prefix(std::min(times.size(), times.find(' ')));
  }
  return busy;
}

}  // namespace

JobSampler::JobSampler(const Inventory& launcher, std::string root)
    : root_(std::move(root)), version_(launcher.groups_version()) {
  for (const GroupBase& base : launcher.group_bases()) {
    if (base.controller() == "memory") memory_base_ = base.directory();
    if (base.controller() == "memory" || process_base_.empty()) process_base_ = base.directory();
  }
  const std::string zones = root_ + "/sys/class/powercap";
  DIR* listing = ::opendir(zones.c_str());
  if (listing == nullptr) return;
  std::vector<char>& buffer = shared_buffer();
  while (const dirent* entry = ::readdir(listing)) {
    if (!is_package(entry->d_name)) continue;
    Counter counter;
    counter.file = zones + "/" + entry->d_name + "/energy_uj";
    const std::string_view now = read_small(counter.file, buffer);
    if (now.empty()) continue;  // usually only root may read it
    counter.last = number_at(now);
    counter.range = number_at(read_small(zones + "/" + entry->d_name + "/max_energy_range_uj", buffer));
    energy_.push_back(std::move(counter));
  }
  ::closedir(listing);
}

// The state of a thread is the letter behind its name, which may have any letters.
void JobSampler::add_threads(pid_t pid, JobUse& use) {
  constexpr uint32_t kMostLookedAt = 2048;
  const std::string tasks = root_ + "/proc/" + std::to_string(pid) + "/task";
  DIR* const listing = ::opendir(tasks.c_str());
  if (listing == nullptr) return;
  while (const dirent* entry = ::readdir(listing)) {
    if (entry->d_name[0] == '.') continue;
    if (++use.threads > kMostLookedAt) continue;
    const std::string_view stat = read_small(tasks + "/" + entry->d_name + "/stat", shared_buffer());
    const size_t name_end = stat.rfind(") ");
    if (name_end != std::string_view::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'R')
      ++use.running_threads;
  }
  ::closedir(listing);
}

void JobSampler::add_process(pid_t pid, bool with_memory_and_time, JobUse& use) {
  ++use.processes;
  add_threads(pid, use);
  if (use.processes <= kMostAskedForProcessors) add_processors(pid, use.processors);
  if (with_memory_and_time) {
    const ProcessUsage usage = read_process_usage(pid);
    use.cpu_milliseconds += (usage.user_microseconds + usage.system_microseconds) / 1000;
    use.memory_kib += usage.rss_kib;
    use.read_bytes += usage.read_bytes;
    use.write_bytes += usage.write_bytes;
    return;
  }
  const std::string_view io = read_small(root_ + "/proc/" + std::to_string(pid) + "/io", shared_buffer());
  use.read_bytes += value_of(io, "rchar:");
  use.write_bytes += value_of(io, "wchar:");
}

JobUse JobSampler::read_group(const std::string& name) {
  JobUse use;
  const std::string directory = process_base_ + "/" + name;
  std::vector<char>& buffer = shared_buffer();
  std::vector<pid_t> pids;
  each_directory(directory, [&](const std::string& one) {
    std::string_view list = read_small(one + "/cgroup.procs", buffer);
    while (!list.empty()) {
      if (const auto pid = static_cast<pid_t>(number_at(list)); pid > 0) pids.push_back(pid);
      const size_t end = list.find('\n');
      list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    }
  });
  const bool group_has_time = version_ == 2;
  for (const pid_t pid : pids) add_process(pid, !group_has_time || memory_base_.empty(), use);
  if (group_has_time)
    use.cpu_milliseconds = value_of(read_small(directory + "/cpu.stat", buffer), "usage_usec ") / 1000;
  if (memory_base_.empty()) return use;
  const std::string_view memory = read_small(memory_base_ + "/" + name + "/memory.stat", buffer);
  if (memory.empty()) return use;
  const bool v2 = version_ == 2;
  const uint64_t shared = value_of(memory, v2 ? "shmem " : "total_shmem "),
                 files = value_of(memory, v2 ? "file " : "total_cache ");  // shared memory among them
  use.memory_kib = (value_of(memory, v2 ? "anon " : "total_rss ") + shared) / 1024;
  use.shared_kib = shared / 1024;
  use.cache_kib = (files - std::min(files, shared)) / 1024;
  return use;
}

std::vector<JobUse> JobSampler::read(const std::vector<SampledJob>& jobs) {
  std::vector<JobUse> uses(jobs.size());
  // Each process belongs to the job of its nearest known ancestor.
  std::unordered_map<pid_t, size_t> owner;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::string name = JobGroups::name_of(JobKey{jobs[i].job_id, jobs[i].run});
    if (version_ != 0 && ::access((process_base_ + "/" + name).c_str(), F_OK) == 0) {
      uses[i] = read_group(name);
      continue;
    }
    for (const pid_t root : jobs[i].roots) {
      if (root > 0) owner[root] = i;
    }
  }
  if (owner.empty()) return uses;
  std::unordered_map<pid_t, pid_t> parents;
  for (const Process& process : read_all_processes()) parents[process.pid] = process.parent;
  for (const auto& [pid, parent] : parents) {
    pid_t at = pid;
    for (int steps = 0; steps < 1000 && at > 1; ++steps) {
      if (const auto found = owner.find(at); found != owner.end()) {
        add_process(pid, true, uses[found->second]);
        break;
      }
      const auto up = parents.find(at);
      if (up == parents.end()) break;
      at = up->second;
    }
  }
  return uses;
}

MachineUse JobSampler::read_machine() {
  MachineUse use;
  std::vector<char>& buffer = shared_buffer();
  static const auto ticks_per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  // "cpu  TIMES" of all, then "cpuN TIMES" of each, then others.
  std::string_view stat = read_small(root_ + "/proc/stat", buffer);
  while (stat.starts_with("cpu")) {
    const std::string_view line = stat.substr(3, stat.find('\n') - 3);
    const std::string_view times = line.substr(std::min(line.size(), line.find(' ')));
    const uint64_t milliseconds = busy_ticks(times) * 1000 / ticks_per_second;
    if (line.starts_with(' '))
      use.cpu_milliseconds = milliseconds;
    else
      use.processor_milliseconds[static_cast<uint32_t>(number_at(line))] = milliseconds;
    stat.remove_prefix(std::min(stat.size(), line.size() + 4));
  }
  const std::string_view memory = read_small(root_ + "/proc/meminfo", buffer);
  use.total_memory_kib = value_of(memory, "MemTotal:");
  const uint64_t available = value_of(memory, "MemAvailable:");
  use.memory_kib = use.total_memory_kib > available ? use.total_memory_kib - available : 0;
  for (Counter& counter : energy_) {
    const uint64_t now = number_at(read_small(counter.file, buffer));
    energy_microjoules_ += now >= counter.last ? now - counter.last : now + counter.range - counter.last;
    counter.last = now;
  }
  use.energy_microjoules = energy_microjoules_;
  read_network(use);
  return use;
}

// Lines "name: received-bytes packets errs drop fifo frame compressed multicast sent-bytes …". Virtual
// interfaces (bridges, those of containers) carry what a device carries, too: they count only where there is
// no device.
void JobSampler::read_network(MachineUse& use) {
  std::string_view text = read_small(root_ + "/proc/net/dev", shared_buffer());
  uint64_t received = 0, sent = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t colon = line.find(':'), name = line.find_first_not_of(' ');
    if (colon == std::string_view::npos || name >= colon) continue;
    const std::string interface(line.substr(name, colon - name));
    if (interface == "lo") continue;
    std::string_view numbers = line.substr(colon + 1);
    uint64_t values[9] = {};
    for (uint64_t& value : values) {
      numbers.remove_prefix(std::min(numbers.size(), numbers.find_first_not_of(' ')));
      value = number_at(numbers);
      numbers.remove_prefix(std::min(numbers.size(), numbers.find(' ')));
    }
    received += values[0];
    sent += values[8];
    if (::access((root_ + "/sys/class/net/" + interface + "/device").c_str(), F_OK) != 0) continue;
    use.received_bytes += values[0];
    use.sent_bytes += values[8];
  }
  if (use.received_bytes + use.sent_bytes != 0) return;
  use.received_bytes = received;
  use.sent_bytes = sent;
}

}  // namespace minke::node
