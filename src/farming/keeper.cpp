#include "farming/keeper.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "os/files.h"
#include "os/pipe.h"
#include "text/number.h"

namespace minke::farming {
namespace {

constexpr int kTurnsOfEnding = 1000;  // of 10 ms
constexpr size_t kMostBytes = 60 << 10;

// The parent in /proc/PID/stat, behind the name, which may hold anything.
pid_t parent_of(std::string_view pid) {
  const auto line = os::read_file("/proc/" + std::string(pid) + "/stat", 4096);
  if (!line) return 0;
  const size_t end = line->rfind(')');
  if (end == std::string::npos) return 0;
  const auto words = text::split(std::string_view(*line).substr(end + 1), ' ');  // "", state, parent
  return words.size() < 3 ? 0 : static_cast<pid_t>(text::parse_unsigned(words[2]).value_or(0));
}

std::vector<pid_t> children() {
  std::vector<pid_t> all;
  const std::string self = std::to_string(::getpid());
  if (const auto list = os::read_file("/proc/self/task/" + self + "/children", size_t{4} << 20)) {
    for (const std::string_view word : text::split(*list, ' '))
      if (const auto pid = text::parse_unsigned(text::trim(word)); pid && *pid > 0)
        all.push_back(static_cast<pid_t>(*pid));
    return all;
  }
  std::error_code problem;  // a kernel without that list
  for (const auto& entry : std::filesystem::directory_iterator("/proc", problem)) {
    const std::string name = entry.path().filename().string();
    const auto pid = text::parse_unsigned(name);
    if (pid && parent_of(name) == ::getpid()) all.push_back(static_cast<pid_t>(*pid));
  }
  return all;
}

// What ends a worker goes to it; returns how it ended.
int watch(pid_t worker, const sigset_t& signals) {
  for (;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&signals, &info);
    int status = 0;
    if (signal == SIGCHLD && ::waitpid(worker, &status, WNOHANG) == worker) return status;
    if (signal > 0 && signal != SIGCHLD && signal != kKeeperDied) ::kill(worker, signal);
  }
}

[[noreturn]] void be_worker(pid_t keeper, const os::Pipe& said, const std::function<std::string()>& work) {
  ::prctl(PR_SET_PDEATHSIG, kKeeperDied);
  if (::getppid() != keeper) ::_exit(1);
  const std::string text = work().substr(0, kMostBytes);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::write(said.writer.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ::_exit(1);
    done += static_cast<size_t>(got);
  }
  std::fflush(nullptr);
  ::_exit(0);
}

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

void end_descendants() {
  const timespec pause{0, 10'000'000};
  for (int turn = 0; turn < kTurnsOfEnding; ++turn) {
    // The children of each that dies become this process's own.
    for (const pid_t child : children()) ::kill(child, SIGKILL);
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) return;
    ::nanosleep(&pause, nullptr);
  }
}

Result<std::string> run_kept(const std::function<std::string()>& work) {
  auto said = os::make_pipe();
  if (!said) return failure(said.error());
  sigset_t signals, before;
  ::sigemptyset(&signals);
  for (const int one : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, kKeeperDied}) ::sigaddset(&signals, one);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::fflush(nullptr);
  const pid_t self = ::getpid(), worker = ::fork();
  if (worker == 0) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a case leaves behind is the worker's first
    be_worker(self, *said, work);
  }
  const int error_number = errno;
  said->writer.reset();
  const int status = worker < 0 ? 0 : watch(worker, signals);
  const bool ended_well = worker > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (worker > 0 && !ended_well) end_descendants();
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (worker < 0) return failure_from_errno("the worker's process", error_number);
  if (ended_well) return read_all(said->reader.get());
  return failure(WIFSIGNALED(status) ? "the worker was killed by signal " + std::to_string(WTERMSIG(status))
                                     : std::string("the worker ended without a word"));
}

}  // namespace minke::farming
