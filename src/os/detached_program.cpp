#include "os/detached_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace minke::os {

namespace {

// Null-terminated, as execve takes them.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

Status spawn_detached(const DetachedProgram& program) {
  std::vector<char*> arguments = pointers(program.argv), variables = pointers(program.environment);
  const pid_t middle = ::fork();
  if (middle < 0) return failure_from_errno("fork", errno);
  if (middle == 0) {
    // From here to exec only system calls are allowed.
    ::setsid();
    const pid_t child = ::fork();
    if (child != 0) ::_exit(child < 0 ? 1 : 0);
    const int null = ::open("/dev/null", O_RDWR);
    int log = ::open(program.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log < 0) log = null;
    // Uses numbers above those that are replaced, whatever their numbers are here.
    const int input = ::fcntl(program.input < 0 ? null : program.input, F_DUPFD, 3);
    const int output = ::fcntl(program.output, F_DUPFD, 3);
    log = ::fcntl(log, F_DUPFD, 3);
    ::dup2(input, 0);
    ::dup2(output, 1);
    ::dup2(log, 2);
    ::close_range(3, ~0u, 0);
    if (::chdir("/") != 0) ::_exit(1);
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    for (int signal_number = 1; signal_number < 65; ++signal_number)
      ::sigaction(signal_number, &action, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(arguments[0], arguments.data(), variables.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(middle, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return failure("a new process could not be started");
  return {};
}

}  // namespace minke::os
