#include "os/detached.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "os/helper_starter.h"

extern char** environ;

namespace minke::os {

namespace {

bool is_left_out(std::string_view variable, const std::vector<std::string>& patterns) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    if (!pattern.empty() && pattern.back() == '*')
      return name.substr(0, pattern.size() - 1) == std::string_view(pattern).substr(0, pattern.size() - 1);
    return name == pattern;
  });
}

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

Result<UniqueFd> start_detached(const DetachedCommand& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure_from_errno("pipe", errno);
  UniqueFd reader(ends[0]), writer(ends[1]);
  DetachedProgram program{
      command.argv, {}, command.log_path, command.input, command.output < 0 ? writer.get() : command.output};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_left_out(*variable, command.without_variables)) program.environment.emplace_back(*variable);
  }
  const Status started = has_helper_starter() ? ask_helper_starter(program) : spawn_detached(program);
  if (!started) return failure(started.error());
  return reader;
}

}  // namespace minke::os
