// minke prolog-program: runs the programs of one prolog or epilog, in order, until one fails. The daemon
// starts it (engine/embedded/launching/prolog_runs.h): standard input has the order, standard output takes
// the outcome. When standard output has no reader any more, the daemon is gone: all of it ends, and the next
// daemon does it again. One thread.
#include "helpers/prolog_program.h"

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/launching/prologs.pb.h"
#include "os/fd.h"
#include "os/pipe.h"
#include "os/trusted_file.h"

namespace minke::helpers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOutput = size_t{64} << 10;     // kept of the programs' output
constexpr auto kTermTime = std::chrono::seconds(2);  // between SIGTERM and SIGKILL

std::string read_all(int fd) {
  std::string all;
  char buffer[16384];
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    all.append(buffer, static_cast<size_t>(got));
  }
  return all;
}

bool daemon_is_gone() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

Status take_lock(const engine::PrologOrder& order) {
  static const int file = ::open(order.lock_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return failure_from_errno(order.lock_path(), errno);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_start = static_cast<off_t>(order.lock_number());
  lock.l_len = 1;
  while (::fcntl(file, F_OFD_SETLKW, &lock) != 0)
    if (errno != EINTR) return failure_from_errno(order.lock_path(), errno);
  return {};
}

Result<std::vector<std::string>> programs_of(const engine::PrologOrder& order) {
  std::vector<std::string> programs;
  for (const std::string& pattern : order.programs()) {
    if (pattern.find_first_of("*?[") == std::string::npos) {
      programs.push_back(pattern);
      continue;
    }
    glob_t found{};
    const int done = ::glob(pattern.c_str(), 0, nullptr, &found);
    // As in Slurm, what a pattern matches runs from z to a.
    for (size_t i = done == 0 ? found.gl_pathc : 0; i-- > 0;) programs.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    if (done != 0 && done != GLOB_NOMATCH) return failure(pattern + " cannot be read");
  }
  return programs;
}

struct Child {
  pid_t pid = -1;
  os::UniqueFd handle, output, failure;
};

// Returns why it was not executed, an errno; 0: it was. It has ended, or executes its program.
int failure_of(const Child& child) {
  int error = 0;
  ssize_t got;
  do got = ::read(child.failure.get(), &error, sizeof error);
  while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

Result<Child> start(const std::string& program, const std::vector<char*>& environment) {
  auto output = os::make_pipe(), failed = os::make_pipe();
  if (!output || !failed) return failure((output ? failed : output).error());
  Child child{
      .pid = -1, .handle = {}, .output = std::move(output->reader), .failure = std::move(failed->reader)};
  const os::UniqueFd &writer = output->writer, &failure_writer = failed->writer;
  ::fcntl(child.output.get(), F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid < 0) return failure_from_errno("fork", errno);
  if (child.pid == 0) {
    ::setpgid(0, 0);
    std::signal(SIGPIPE, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    ::dup2(writer.get(), STDOUT_FILENO);
    ::dup2(writer.get(), STDERR_FILENO);
    constexpr int kFailure = 3;
    if (failure_writer.get() != kFailure) ::dup3(failure_writer.get(), kFailure, O_CLOEXEC);
    ::close_range(kFailure + 1, ~0U, 0);
    ::umask(0022);
    if (::chdir("/") != 0) ::_exit(127);
    char* arguments[] = {const_cast<char*>(program.c_str()), nullptr};
    ::execve(program.c_str(), arguments, environment.data());
    const int error = errno;
    (void)!::write(kFailure, &error, sizeof error);
    ::_exit(127);
  }
  ::setpgid(child.pid, child.pid);
  child.handle.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (!child.handle) {
    ::kill(child.pid, SIGKILL);
    return failure_from_errno("pidfd_open", errno);
  }
  return child;
}

// Bounded, so that endless output does not hide the end of the time limit.
void keep_output(int fd, std::string& output) {
  char buffer[4096];
  for (int reads = 0; reads < 32; ++reads) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got <= 0) return;
    if (output.size() < kMostOutput) output.append(buffer, static_cast<size_t>(got));
  }
}

// Waits only for the program itself, as Slurm does: processes that it leaves continue without us.
Status run(const std::string& program, const std::vector<char*>& environment,
           std::optional<Clock::time_point> deadline, engine::PrologOutcome& outcome) {
  if (::access(program.c_str(), R_OK | X_OK) != 0) return failure_from_errno(program, errno);
  auto child = start(program, environment);
  if (!child) return failure(child.error());
  bool killed = false;
  for (;;) {
    int patience = -1;
    if (deadline) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now());
      patience = static_cast<int>(std::max<int64_t>(0, left.count() + 1));
    }
    pollfd watched[] = {
        {child->handle.get(), POLLIN, 0}, {child->output.get(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    const int ready = ::poll(watched, 3, patience);
    if (ready < 0 && errno != EINTR) return failure_from_errno("poll", errno);
    if (ready > 0 && (watched[2].revents & POLLERR) != 0) {
      ::kill(-child->pid, SIGKILL);
      ::waitpid(child->pid, nullptr, 0);
      ::_exit(1);
    }
    if (ready > 0 && watched[1].revents != 0) {
      keep_output(child->output.get(), *outcome.mutable_output());
      if ((watched[1].revents & POLLHUP) != 0) child->output.reset();
    }
    if (ready > 0 && watched[0].revents != 0) break;
    if (deadline && Clock::now() >= *deadline) {
      outcome.set_timed_out(true);
      ::kill(-child->pid, killed ? SIGKILL : SIGTERM);
      deadline = killed ? std::nullopt : std::optional(Clock::now() + kTermTime);
      killed = true;
    }
  }
  int status = 0;
  while (::waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (const int error = failure_of(*child); error != 0) {
    outcome.set_too_long(error == E2BIG);
    return failure_from_errno(program, error);
  }
  keep_output(child->output.get(), *outcome.mutable_output());
  if (outcome.timed_out()) {
    ::kill(-child->pid, SIGKILL);
    if (status == 0) status = SIGTERM;
  }
  outcome.set_status(status);
  return {};
}

Status run_all(const engine::PrologOrder& order, engine::PrologOutcome& outcome) {
  if (const Status locked = take_lock(order); !locked) return locked;
  if (daemon_is_gone()) ::_exit(1);
  const auto programs = programs_of(order);
  if (!programs) return failure(programs.error());
  std::vector<char*> environment;
  const std::string& block = order.environment();
  for (size_t at = 0; at < block.size(); at = block.find('\0', at) + 1)
    environment.push_back(const_cast<char*>(block.data() + at));
  environment.push_back(nullptr);
  std::optional<Clock::time_point> deadline;
  if (order.timeout_seconds() != 0) deadline = Clock::now() + std::chrono::seconds(order.timeout_seconds());
  for (const std::string& program : *programs) {
    outcome.set_program(program);
    if (order.trusted_only()) {
      if (const Status good = os::check_only_root_changes(program); !good) return good;
    }
    if (const Status ran = run(program, environment, deadline, outcome); !ran) return ran;
    if (outcome.status() != 0) return {};
  }
  return {};
}

}  // namespace

int prolog_program_main(int argc, char**) {
  engine::PrologOrder order;
  if (argc != 1 || !order.ParseFromString(read_all(STDIN_FILENO))) return 1;
  std::signal(SIGPIPE, SIG_IGN);
  engine::PrologOutcome outcome;
  if (const Status done = run_all(order, outcome); !done) {
    outcome.set_status(127 << 8);
    outcome.set_problem("could not be run: " + done.error().message);
  }
  const std::string answer = outcome.SerializeAsString();
  for (size_t at = 0; at < answer.size();) {
    const ssize_t put = ::write(STDOUT_FILENO, answer.data() + at, answer.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return 1;
    at += static_cast<size_t>(put);
  }
  return 0;
}

}  // namespace minke::helpers
