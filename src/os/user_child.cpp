#include "os/user_child.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "os/become.h"
#include "os/fd.h"
#include "os/pipe.h"

namespace minke::os {

namespace {

using Clock = std::chrono::steady_clock;

// A killed process may still be in the kernel, in a file system that does not answer.
constexpr std::chrono::milliseconds kDying{1000};
constexpr int kLost = 0xff00;       // exit code 255
constexpr int kBetweenLooks = 500;  // ms: a stopped process reports to nobody

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

// Only the user would stop a process that we wait for, to make us wait.
bool is_stopped(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

// Returns the wait status, once it has ended; nothing at the deadline, or if it is stopped.
std::optional<int> wait_until(pid_t child, Clock::time_point deadline) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return kLost;  // another caller has reaped it
    const int left = milliseconds_until(deadline);
    if (left == 0 || is_stopped(child)) return std::nullopt;
    pollfd end{process.get(), POLLIN, 0};
    (void)::poll(&end, process ? 1 : 0, std::min(left, process ? kBetweenLooks : 10));
  }
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Reads until it has closed its end. Returns 0, or ETIMEDOUT (the deadline, or it is stopped), EMSGSIZE (it
// writes too much), or ECANCELED.
int read_answer(pid_t child, int from, const ChildLimits& limits, Clock::time_point deadline,
                std::string& said) {
  for (;;) {
    const int left = milliseconds_until(deadline);
    pollfd ready{from, POLLIN, 0};
    const int got = ::poll(&ready, 1, std::min(left, kBetweenLooks));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (left == 0 || is_stopped(child)) return ETIMEDOUT;
      if (limits.goes_on && !limits.goes_on()) return ECANCELED;
      continue;
    }
    char buffer[16384];
    const ssize_t bytes = ::read(from, buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return 0;
    if (said.size() + static_cast<size_t>(bytes) > limits.bytes) return EMSGSIZE;
    said.append(buffer, static_cast<size_t>(bytes));
  }
}

}  // namespace

Rights rights_of(uid_t uid, gid_t gid) {
  Rights rights{uid, gid, {}};
  const passwd* user = ::getpwuid(uid);
  if (user == nullptr) return rights;
  const std::string name = user->pw_name;
  int count = 65536;  // the kernel's limit
  rights.groups.resize(static_cast<size_t>(count));
  if (::getgrouplist(name.c_str(), gid, rights.groups.data(), &count) < 0) count = 0;
  rights.groups.resize(static_cast<size_t>(count));
  return rights;
}

bool become_in_child(const std::optional<Rights>& rights, pid_t parent) {
  if (rights && ::geteuid() == 0 && !become(rights->uid, rights->gid, rights->groups)) return false;
  // After that: a change of rights resets this.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return ::getppid() == parent;
}

bool keep_only(int answer) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0 || answer <= STDERR_FILENO) return false;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::dup2(nothing, stream) < 0) return false;
  const auto kept = static_cast<unsigned>(answer);
  const bool closed_below = kept == 3 || ::close_range(3, kept - 1, 0) == 0;
  return closed_below && ::close_range(kept + 1, ~0U, 0) == 0;
}

Result<int> wait_or_kill(pid_t child, Clock::time_point deadline) {
  if (const auto status = wait_until(child, deadline)) return exit_code_of(*status);
  // It has not been reaped, so the number is still its own, and its group's.
  if (::kill(-child, SIGKILL) != 0) ::kill(child, SIGKILL);
  (void)wait_until(child, Clock::now() + kDying);
  return failure("it took too long", ETIMEDOUT);
}

Result<ChildOutcome> run_in_child(const std::optional<Rights>& rights, const ChildLimits& limits,
                                  const std::function<int(int answer)>& work) {
  auto pipe = make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reader, writer] = *pipe;
  const auto deadline = Clock::now() + limits.time;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    ::setpgid(0, 0);
    if (!become_in_child(rights, parent)) ::_exit(126);
    ::_exit(work(writer.get()));
  }
  ::setpgid(child, child);  // parent and child both call it, in any order
  writer.reset();
  ChildOutcome outcome;
  const int error = read_answer(child, reader.get(), limits, deadline, outcome.said);
  const auto ended = wait_or_kill(child, error == 0 ? deadline : Clock::now());
  if (error != 0) return failure_from_errno("its answer", error);
  if (!ended) return failure(ended.error());
  outcome.exit_code = *ended;
  return outcome;
}

}  // namespace minke::os
