#include "storage/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "os/fd.h"
#include "os/pipe.h"

namespace minke::storage {

namespace {

// Returns why a program failed, in one line: its last words, except those that say only that it failed.
std::string last_words(const std::string& program, const std::string& said) {
  constexpr size_t kLines = 3;
  std::vector<std::string> lines;
  for (size_t at = 0; at < said.size();) {
    const size_t end = std::min(said.find('\n', at), said.size());
    std::string line = said.substr(at, end - at);
    at = end + 1;
    if (line.starts_with(program + ": ")) line.erase(0, program.size() + 2);
    line.erase(0, line.find_first_not_of(" \t"));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.empty() || line == "Exiting with failure status due to previous errors" ||
        line == "Error is not recoverable: exiting now")
      continue;
    lines.push_back(std::move(line));
  }
  std::string words;
  for (size_t at = lines.size() > kLines ? lines.size() - kLines : 0; at < lines.size(); ++at)
    words += (words.empty() ? "" : "; ") + lines[at];
  return lines.size() > kLines ? "… " + words : words;
}

// Runs in the child: only what is safe if other threads of the parent may have held locks.
[[noreturn]] void become_program(char* const* arguments, pid_t parent, int output, int problem) {
  // It ends with us, however we end: a program that went on writing would be in the way of the next attempt.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (::dup2(nowhere, STDIN_FILENO) >= 0 && ::dup2(nowhere, STDOUT_FILENO) >= 0 &&
      ::dup2(output, STDERR_FILENO) >= 0)
    ::execvp(arguments[0], arguments);
  const int number = errno;
  (void)!::write(problem, &number, sizeof number);
  ::_exit(127);
}

// Errors: errno of its start.
Result<pid_t> start(char* const* arguments, int output) {
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reading, writing] = *pipe;
  const pid_t self = ::getpid();
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become_program(arguments, self, output, writing.get());
  const int unforked = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return failure_from_errno(arguments[0], unforked);
  writing.reset();
  int problem = 0;
  ssize_t got;
  while ((got = ::read(reading.get(), &problem, sizeof problem)) < 0 && errno == EINTR) {
  }
  if (got != sizeof problem) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return problem == ENOENT ? failure(std::string(arguments[0]) + " is not installed", ENOENT)
                           : failure_from_errno(arguments[0], problem);
}

// The end of what a program wrote until it closed its stderr.
struct Watched {
  std::string said;
  bool stopped = false;
};
Watched watch(pid_t pid, int output, const std::atomic<bool>* stop) {
  constexpr size_t kMostBytes = 64 << 10, kKeptBytes = 32 << 10;
  Watched watched;
  char piece[4096];
  for (;;) {
    pollfd ready{output, POLLIN, 0};
    const int count = ::poll(&ready, 1, stop != nullptr ? 200 : -1);
    if (stop != nullptr && *stop && !watched.stopped) {
      watched.stopped = true;
      ::kill(pid, SIGTERM);
    }
    if (count <= 0) continue;
    const ssize_t got = ::read(output, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return watched;
    std::string& said = watched.said;
    said.append(piece, static_cast<size_t>(got));
    if (said.size() > kMostBytes) said.erase(0, said.size() - kKeptBytes);
  }
}

}  // namespace

Status run_program(const std::vector<std::string>& words, const std::atomic<bool>* stop) {
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reading, writing] = *pipe;
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const auto started = start(arguments.data(), writing.get());
  writing.reset();
  if (!started) return failure(started.error());
  const Watched watched = watch(*started, reading.get(), stop);
  int status = 0;
  while (::waitpid(*started, &status, 0) < 0 && errno == EINTR) {
  }
  if (watched.stopped) return failure("stopped", ECANCELED);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string line = last_words(words[0], watched.said);
  return failure(words[0] + ": " +
                 (!line.empty()       ? line
                  : WIFEXITED(status) ? "exit status " + std::to_string(WEXITSTATUS(status))
                                      : "killed by signal " + std::to_string(WTERMSIG(status))));
}

bool is_installed(const std::string& program) {
  struct stat own {
  }, found{};
  const bool known = ::stat("/proc/self/exe", &own) == 0;
  const char* path = ::getenv("PATH");
  const std::string directories = path != nullptr ? path : "/usr/bin:/bin";
  for (size_t at = 0; at <= directories.size();) {
    const size_t end = std::min(directories.find(':', at), directories.size());
    const std::string candidate = directories.substr(at, end - at) + "/" + program;
    // Minke's own name for it is none.
    const bool ours = known && ::stat(candidate.c_str(), &found) == 0 && found.st_ino == own.st_ino &&
                      found.st_dev == own.st_dev;
    if (::access(candidate.c_str(), X_OK) == 0 && !ours) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace minke::storage
