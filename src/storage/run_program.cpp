#include "storage/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "os/child_signals.h"
#include "os/fd.h"

extern char** environ;

namespace minke::storage {

namespace {

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Status run_program(const std::vector<std::string>& words, const std::atomic<bool>* stop) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure_from_errno("pipe", errno);
  const os::UniqueFd reading(ends[0]);
  os::UniqueFd writing(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  const os::ChildSignals signals;
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int problem = ::posix_spawnp(&pid, arguments[0], &actions, signals.get(), arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  writing.reset();
  if (problem != 0)
    return problem == ENOENT ? failure(words[0] + " is not installed", ENOENT)
                             : failure_from_errno(words[0], problem);
  std::string said;
  char piece[4096];
  bool stopped = false;
  for (;;) {
    pollfd ready{reading.get(), POLLIN, 0};
    const int count = ::poll(&ready, 1, stop != nullptr ? 200 : -1);
    if (stop != nullptr && *stop && !stopped) {
      stopped = true;
      ::kill(pid, SIGTERM);
    }
    if (count <= 0) continue;
    const ssize_t got = ::read(reading.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    said.append(piece, static_cast<size_t>(got));
    if (said.size() > 64 << 10) said.erase(0, said.size() - (32 << 10));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (stopped) return failure("stopped", ECANCELED);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string line = last_line(said);
  return failure(words[0] + ": " +
                 (!line.empty()       ? line
                  : WIFEXITED(status) ? "exit status " + std::to_string(WEXITSTATUS(status))
                                      : "killed by signal " + std::to_string(WTERMSIG(status))));
}

bool is_installed(const std::string& program) {
  const char* path = ::getenv("PATH");
  const std::string directories = path != nullptr ? path : "/usr/bin:/bin";
  for (size_t at = 0; at <= directories.size();) {
    const size_t end = std::min(directories.find(':', at), directories.size());
    if (::access((directories.substr(at, end - at) + "/" + program).c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace minke::storage
