#include "node/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>

namespace minke::node {
namespace {

constexpr pid_t kKernelThreads = 2;                    // their parent
constexpr pid_t kWidestSpan = 4096;                    // with more pids, look at all processes instead
constexpr size_t kMostEnvironment = size_t{16} << 20;  // far above what execve takes

std::string proc_path(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

std::string read_file(const std::string& path, size_t limit) {
  std::string content;
  os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return content;
  char buffer[16384];
  ssize_t count;
  while (content.size() < limit && (count = ::read(file.get(), buffer, sizeof buffer)) > 0) {
    content.append(buffer, static_cast<size_t>(count));
  }
  return content;
}

std::optional<std::string_view> variable_in(const std::string& environment, std::string_view name) {
  for (size_t at = 0; at < environment.size();) {
    const std::string_view variable(environment.data() + at);
    if (variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=')
      return variable.substr(name.size() + 1);
    at += variable.size() + 1;
  }
  return std::nullopt;
}

pid_t last_word_as_pid(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  text.remove_prefix(text.rfind(' ') + 1);
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid;
}

}  // namespace

std::optional<Process> read_process(pid_t pid) {
  os::UniqueFd file(::open(proc_path(pid, "stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  char buffer[1024];
  ssize_t count = ::read(file.get(), buffer, sizeof buffer - 1);
  if (count <= 0) return std::nullopt;
  buffer[count] = '\0';
  // The second field, the command's name in parentheses, may have any characters: search from its end.
  const char* at = std::strrchr(buffer, ')');
  if (at == nullptr || at[1] != ' ') return std::nullopt;
  Process process;
  process.pid = pid;
  process.state = at[2];
  const char* field = at + 3;
  for (int number = 4; number <= 22; ++number) {
    char* end;
    unsigned long long value = std::strtoull(field, &end, 10);
    if (end == field) return std::nullopt;
    field = end;
    if (number == 4) process.parent = static_cast<pid_t>(value);
    if (number == 5) process.group = static_cast<pid_t>(value);
    if (number == 6) process.session = static_cast<pid_t>(value);
    if (number == 22) process.start_ticks = value;
  }
  return process;
}

std::vector<pid_t> list_pids() {
  std::vector<pid_t> pids;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  if (!directory) return pids;
  while (dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    pids.push_back(static_cast<pid_t>(std::atoi(entry->d_name)));
  }
  return pids;
}

std::vector<Process> read_all_processes() {
  std::vector<Process> processes;
  for (const pid_t pid : list_pids())
    if (auto process = read_process(pid)) processes.push_back(*process);
  return processes;
}

std::vector<Process> descendants(const std::vector<Process>& processes, const std::vector<pid_t>& roots) {
  std::unordered_multimap<pid_t, const Process*> children;
  for (const Process& process : processes) children.emplace(process.parent, &process);
  std::vector<Process> found;
  std::vector<pid_t> open = roots;
  while (!open.empty()) {
    auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (auto at = first; at != last; ++at) {
      if (std::find(roots.begin(), roots.end(), at->second->pid) != roots.end()) continue;
      found.push_back(*at->second);
      open.push_back(at->second->pid);
    }
  }
  return found;
}

InitialEnvironment::InitialEnvironment(pid_t pid)
    : text_(read_file(proc_path(pid, "environ"), kMostEnvironment)) {}

std::optional<std::string_view> InitialEnvironment::get(std::string_view name) const {
  return variable_in(text_, name);
}

std::optional<std::string> initial_variable(pid_t pid, const std::string& name, bool* undecided) {
  std::string environment = read_file(proc_path(pid, "environ"), kMostEnvironment);
  if (environment.empty()) {
    // Either it is really empty, or the process is in the middle of an execve and has no arguments either.
    bool has_arguments = !read_file(proc_path(pid, "cmdline"), 1).empty();
    environment = read_file(proc_path(pid, "environ"), kMostEnvironment);
    if (undecided != nullptr && environment.empty() && !has_arguments) {
      auto process = read_process(pid);
      // Kernel threads and zombies never have either.
      if (process && process->state != 'Z' && process->state != 'X' && process->parent != kKernelThreads &&
          pid != kKernelThreads) {
        *undecided = true;
      }
    }
  }
  const auto value = variable_in(environment, name);
  if (!value) return std::nullopt;
  return std::string(*value);
}

bool runs_this_program(pid_t pid) {
  struct stat own {};
  struct stat other {};
  return ::stat("/proc/self/exe", &own) == 0 && ::stat(proc_path(pid, "exe").c_str(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

uint64_t boot_ticks_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  static const auto ticks_per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<uint64_t>(now.tv_sec) * ticks_per_second +
         static_cast<uint64_t>(now.tv_nsec) * ticks_per_second / 1'000'000'000;
}

std::string boot_id() {
  std::string id = read_file("/proc/sys/kernel/random/boot_id", 64);
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

ChildList::ChildList(bool use_kernel_list) : load_average_(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC)) {
  std::string path = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  if (use_kernel_list) kernel_list_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

std::vector<pid_t> ChildList::read(pid_t since) {
  std::vector<pid_t> children;
  char buffer[16384];
  if (kernel_list_) {
    // Only this process reaps its children, so none can leave the list while it is read.
    std::string text;
    ssize_t count;
    while ((count = ::pread(kernel_list_.get(), buffer, sizeof buffer, static_cast<off_t>(text.size()))) >
           0) {
      text.append(buffer, static_cast<size_t>(count));
    }
    for (const char* at = text.c_str(); *at != '\0';) {
      char* end;
      long pid = std::strtol(at, &end, 10);
      if (end == at) break;
      children.push_back(static_cast<pid_t>(pid));
      at = end;
      while (*at == ' ') ++at;
    }
    return children;
  }
  pid_t self = ::getpid();
  auto last_pid = [&] {
    ssize_t count = ::pread(load_average_.get(), buffer, sizeof buffer, 0);
    return count > 0 ? last_word_as_pid({buffer, static_cast<size_t>(count)}) : pid_t{0};
  };
  pid_t first = since;
  pid_t last = last_pid();
  if (since != 0 && last >= since && last - since <= kWidestSpan) {
    // Processes that start meanwhile get the next pids.
    for (; first <= last && last - since <= kWidestSpan; last = last_pid()) {
      for (; first <= last; ++first) {
        if (::getsid(first) < 0) continue;
        auto process = read_process(first);
        if (process && process->parent == self) children.push_back(first);
      }
    }
    if (last >= since && last - since <= kWidestSpan) return children;
    children.clear();
  }
  for (const Process& process : read_all_processes()) {
    if (process.parent == self) children.push_back(process.pid);
  }
  return children;
}

}  // namespace minke::node
