#include "node/spawn.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/result.h"
#include "node/launch.pb.h"
#include "node/raw_syscall.h"
#include "node/spawn_preparation.h"
#include "os/files.h"
#include "os/pipe.h"

namespace minke::node {
namespace {

// The address at which the C library's heap starts; 0: unknown.
uintptr_t heap_start() {
  constexpr int kField = 47;  // start_brk
  const auto stat = os::read_file("/proc/self/stat", 4096);
  if (!stat) return 0;
  size_t at = stat->rfind(')');
  for (int field = 2; at != std::string::npos && field < kField; ++field) at = stat->find(' ', at + 1);
  if (at == std::string::npos) return 0;
  return std::strtoull(stat->c_str() + at, nullptr, 10);
}

// Keeps the heap out of children forked meanwhile. They do not need it and must not see its contents, and
// copying its page tables would take longer the more jobs run.
class WithoutHeap {
 public:
  WithoutHeap() { advise(MADV_DONTFORK); }
  ~WithoutHeap() { advise(MADV_DOFORK); }
  WithoutHeap(const WithoutHeap&) = delete;
  WithoutHeap& operator=(const WithoutHeap&) = delete;

 private:
  static void advise(int advice) {
    static const uintptr_t start = heap_start();
    char* const end = static_cast<char*>(::sbrk(0));
    const auto end_address = reinterpret_cast<uintptr_t>(end);
    if (!kRawSyscalls || start == 0 || end_address <= start) return;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const size_t size = end_address - (start & ~(page - 1));
    ::madvise(end - size, size, advice);  // if it is refused, the heap is copied
  }
};

// Returns the child's pid, or the negated errno. The child is born in `group` if that is a descriptor.
pid_t fork_child(ChildBlock& block, int group) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  if (group >= 0) {
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<uint64_t>(group);
  }
  const long pid = raw_syscall(SYS_clone3, reinterpret_cast<long>(&arguments), sizeof arguments);
  if (pid == 0) run_child(block);
  return static_cast<pid_t>(pid);
}

pid_t fork_plainly(ChildBlock& block) {
  const pid_t pid = ::fork();
  if (pid == 0) run_child(block);
  return pid < 0 ? -errno : pid;
}

// Makes a pipe that the next task waits at.
void make_pipe(os::UniqueFd& reading, os::UniqueFd& writing) {
  auto pipe = os::make_pipe();
  if (!pipe) return;  // then the next task does not wait
  reading = std::move(pipe->reader);
  writing = std::move(pipe->writer);
}

// If a file system is read-only, only the user who named a file there is at fault.
int error_number_of(const ChildReport& report) {
  return report.phase == static_cast<int>(StartPhase::kStreams) && report.error == EROFS ? 0 : report.error;
}

std::string describe_failure(const ChildReport& report, const std::string (&paths)[3]) {
  const std::string reason = std::strerror(report.error);
  switch (static_cast<StartPhase>(report.phase)) {
    case StartPhase::kDirectories:
      return "cannot have its own /tmp and /dev/shm: " + reason;
    case StartPhase::kIdentity:
      return "cannot run as its user: " + reason;
    case StartPhase::kGroup:
      return "cannot enter its control group: " + reason;
    case StartPhase::kUsers:
      return "cannot enter its namespace of users: " + reason;
    case StartPhase::kNetwork:
      return "cannot enter its network: " + reason;
    case StartPhase::kDirectory:
      return "couldn't chdir to /tmp either: " + reason;
    case StartPhase::kStreams:
      break;
  }
  static constexpr const char* kStreamNames[] = {"stdin", "stdout", "stderr"};
  const std::string& path = paths[report.stream];
  return std::string("Could not open ") + kStreamNames[report.stream] + " file " +
         (path.empty() ? "(descriptor)" : path) + ": " + reason;
}

}  // namespace

Spawner::Spawner(std::string marker)
    : marker_(std::move(marker)), null_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {
  MINKE_CHECK(null_.get() > 2);                       // 0, 1 and 2 are open in a launcher
  MINKE_CHECK(::strerrordesc_np(EINVAL) != nullptr);  // bound here, because a child must not bind it
}

Spawner::~Spawner() {
  for (const auto& [pid, child] : children_)  // none may start after the launcher's end
    if (child.report->executing == 0) ::kill(pid, SIGKILL);
}

std::vector<pid_t> Spawner::spawn(const LaunchOrder& order, const std::vector<os::UniqueFd>& descriptors,
                                  const Confinement& confinement) {
  const auto count = static_cast<size_t>(order.tasks_size());
  forget_executing(count);
  try {
    return spawn_all(order, descriptors, confinement);
  } catch (const std::bad_alloc&) {
    return std::vector<pid_t>(count, -ENOMEM);
  }
}

std::vector<pid_t> Spawner::spawn_all(const LaunchOrder& order, const std::vector<os::UniqueFd>& descriptors,
                                      const Confinement& confinement) {
  LaunchMemory memory;
  const std::string marker =
      marker_ + std::to_string(order.id().job_id()) + "." + std::to_string(order.id().run());
  std::vector<PreparedTask> tasks = prepare_tasks(order, marker, descriptors, confinement, memory);
  std::vector<const int*> group_files;  // by place
  for (const GroupEntry& group : confinement.groups) {
    std::vector<int> files;
    for (const os::UniqueFd& file : group.files) files.push_back(file.get());
    group_files.push_back(memory.copy(std::span<const int>(files)));
  }
  for (PreparedTask& task : tasks) {
    task.block->report = reports_.take();
    task.block->parent = ::getpid();
    task.block->null = null_.get();
  }

  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  std::vector<pid_t> pids;
  {
    const WithoutHeap without_heap;
    os::UniqueFd previous;  // the reading end of the pipe of the task before
    for (size_t i = 0; i < tasks.size(); ++i) {
      ChildBlock& block = *tasks[i].block;
      os::UniqueFd reading, writing;
      if (tasks[i].after_previous) block.after = previous.get();
      if (i + 1 < tasks.size() && tasks[i + 1].after_previous) make_pipe(reading, writing);
      block.before = writing.get();
      const uint32_t place = tasks[i].place;
      const GroupEntry* group = place < confinement.groups.size() ? &confinement.groups[place] : nullptr;
      pids.push_back(start(block, group, group == nullptr ? nullptr : group_files[place]));
      previous = std::move(reading);
    }
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  for (size_t i = 0; i < tasks.size(); ++i) remember(pids[i], *tasks[i].block);
  return pids;
}

pid_t Spawner::start(ChildBlock& block, const GroupEntry* group, const int* files) {
  const bool born_in_group = group != nullptr && group->directory;
  const auto write_itself_in = [&] {
    if (group == nullptr) return;
    block.group_files = files;
    block.group_file_count = group->files.size();
  };
  if (!born_in_group) write_itself_in();
  // Moving the child there afterwards may take the kernel ten milliseconds.
  if (const pid_t pid = fork_child(block, born_in_group ? group->directory.get() : -1); pid > 0) return pid;
  write_itself_in();
  return fork_plainly(block);  // for kernels before 5.7 and some sandboxes
}

void Spawner::remember(pid_t pid, const ChildBlock& block) {
  if (pid <= 0) return reports_.give_back(block.report);
  Child& child = children_[pid];
  child.report = block.report;
  for (int i = 0; i < 3; ++i)
    if (block.streams[i].path != nullptr) child.paths[i] = block.streams[i].path;
  to_look_at_.push_back(pid);
}

// Looks at a few children at a time, the oldest first. So a child that waits for a
// FIFO costs the others nothing.
void Spawner::forget_executing(size_t new_ones) {
  constexpr size_t kMoreThanCome = 8;
  for (size_t left = new_ones + kMoreThanCome; left > 0 && !to_look_at_.empty(); --left) {
    const pid_t pid = to_look_at_.front();
    to_look_at_.pop_front();
    const auto child = children_.find(pid);
    if (child == children_.end()) continue;
    if (child->second.report->executing == 0) {
      to_look_at_.push_back(pid);
    } else {
      reports_.give_back(child->second.report);
      children_.erase(child);
    }
  }
}

bool Spawner::is_starting(pid_t pid) const {
  const auto child = children_.find(pid);
  return child != children_.end() && child->second.report->executing == 0;
}

std::optional<Error> Spawner::failure_of(pid_t pid) {
  const auto child = children_.extract(pid);
  if (child.empty()) return std::nullopt;
  ChildReport* report = child.mapped().report;
  std::optional<Error> failure;
  if (report->error != 0)
    failure = Error{error_number_of(*report), describe_failure(*report, child.mapped().paths)};
  reports_.give_back(report);
  return failure;
}

}  // namespace minke::node
