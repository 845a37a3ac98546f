#include "node/leave_job.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "node/control_groups.h"
#include "node/launcher.h"
#include "node/process_tree.h"
#include "os/fd.h"
#include "os/files.h"

namespace minke::node {
namespace {

tl::unexpected<Error> stays(const std::string& what) {
  return failure("this command runs in a job, and a daemon that it starts would keep the job's " + what +
                 ": run `minke up` outside of the job");
}

bool same_file(const std::string& one, const std::string& other) {
  struct stat first {};
  struct stat second {};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// The first process of the machine or container, or the oldest readable one; 0: there is none.
pid_t first_process_outside() {
  std::vector<Process> all = read_all_processes();
  std::ranges::sort(all, {},
                    [](const Process& process) { return std::pair(process.start_ticks, process.pid); });
  for (const Process& process : all) {
    const std::string mounts = "/proc/" + std::to_string(process.pid) + "/ns/mnt";
    struct stat info {};
    if (::stat(mounts.c_str(), &info) == 0 && !initial_variable(process.pid, kLaunchMarker))
      return process.pid;
  }
  return 0;
}

// Only root can leave them. Jobs of other users have a user namespace with nobody else in it, in which they
// find the cluster's nodes by name (node/namespaces.h).
Status leave_namespaces() {
  if (::geteuid() != 0) {
    const auto map = os::read_file("/proc/self/uid_map", 4096);
    std::istringstream words(map ? *map : "");
    std::string first, outside, count;
    words >> first >> outside >> count;
    if (count == "1" && first == outside) return stays("namespaces");
    return {};
  }
  const std::string first = "/proc/" + std::to_string(first_process_outside());
  for (const char* kind : {"uts", "ipc", "net", "mnt"}) {
    const std::string name = std::string("/ns/") + kind;
    if (same_file(first + name, "/proc/self" + name)) continue;
    const os::UniqueFd outside(::open((first + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!outside || ::setns(outside.get(), 0) != 0) return stays(std::string(kind) + " namespace");
  }
  return ::chdir("/") == 0 ? Status() : Status(failure_from_errno("/", errno));
}

Status leave_groups() {
  ControlGroups::leave();
  const auto groups = os::read_file("/proc/self/cgroup", size_t{1} << 20);
  if (groups && ControlGroups::is_of_jobs(*groups)) return stays("control group");
  return {};
}

// Asks for all processors; the kernel reduces them to those of the control group.
void take_all_processors() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  [[maybe_unused]] const int taken = ::sched_setaffinity(0, sizeof all, &all);
}

// Only root may exceed the hard limits.
void raise_limits() {
  const pid_t first = ::geteuid() == 0 ? first_process_outside() : 0;
  for (int number = 0; number < RLIMIT_NLIMITS; ++number) {
    const auto resource = static_cast<__rlimit_resource>(number);
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    rlimit outside = limit;
    if (first != 0) ::prlimit(first, resource, nullptr, &outside);
    // Programs take an unlimited stack as a request for the legacy memory layout.
    const bool keep_soft = resource == RLIMIT_STACK || (resource == RLIMIT_CORE && limit.rlim_cur == 0);
    for (const rlim_t hard : {std::max(limit.rlim_max, outside.rlim_max), limit.rlim_max}) {
      const rlimit raised{keep_soft ? limit.rlim_cur : hard, hard};
      if (::setrlimit(resource, &raised) == 0) break;
    }
  }
}

// Undoes, where permitted, settings by which a job gives way to others or is OOM-killed first.
void take_ordinary_turns() {
  ::setpriority(PRIO_PROCESS, 0, 0);
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_OTHER, &none);
  constexpr int kProcess = 1, kNoClass = 0;  // of ioprio_set(2)
  ::syscall(SYS_ioprio_set, kProcess, 0, kNoClass);
  const pid_t first = first_process_outside();
  const auto score = os::read_file("/proc/" + std::to_string(first) + "/oom_score_adj", 16);
  const os::UniqueFd own(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!score || !own) return;
  [[maybe_unused]] const ssize_t written = ::write(own.get(), score->data(), score->size());
}

}  // namespace

Status leave_job() {
  if (const Status left = leave_groups(); !left) return left;
  if (const Status left = leave_namespaces(); !left) return left;
  take_all_processors();
  raise_limits();
  take_ordinary_turns();
  return {};
}

}  // namespace minke::node
