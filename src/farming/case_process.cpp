#include "farming/case_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "os/files.h"
#include "text/number.h"

extern char** environ;

namespace minke::farming {
namespace {

// The worker's environment with these laid over it. The texts must outlive it.
std::vector<char*> laid_over(const std::vector<std::string>& more) {
  std::vector<char*> all;
  for (char** one = environ; *one != nullptr; ++one) {
    bool replaced = false;
    for (const std::string& other : more) {
      const size_t name = other.find('=') + 1;
      replaced = replaced || std::strncmp(*one, other.c_str(), name) == 0;
    }
    if (!replaced) all.push_back(*one);
  }
  for (const std::string& one : more) all.push_back(const_cast<char*>(one.c_str()));
  all.push_back(nullptr);
  return all;
}

struct Start {
  const char* path;
  char* const* arguments;
  char* const* environment;
  int input, output;  // -1: the worker's own
  pid_t parent;
};

// The child shares this process's memory until it becomes its program: it calls nothing but the kernel, and
// says in `problem` why it could not.
[[gnu::noinline]] pid_t start_process(const Start& start, int& problem) {
  volatile int why = 0;
  sigset_t none;
  ::sigemptyset(&none);
  const pid_t pid = ::vfork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != start.parent) ::_exit(127);
    ::setpgid(0, 0);
    if (start.input >= 0) ::dup2(start.input, STDIN_FILENO);
    if (start.output >= 0) {
      ::dup2(start.output, STDOUT_FILENO);
      ::dup2(start.output, STDERR_FILENO);
    }
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(start.path, start.arguments, start.environment);
    why = errno;
    ::_exit(127);
  }
  problem = pid < 0 ? errno : why;
  if (pid > 0 && problem != 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return pid;
}

// The number behind a name in a file of lines "name number".
uint64_t counter(const std::string& path, std::string_view name) {
  const auto content = os::read_file(path, 65536);
  if (!content) return 0;
  for (const std::string_view line : text::split(*content, '\n'))
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ' ')
      return text::parse_unsigned(text::trim(line.substr(name.size()))).value_or(0);
  return 0;
}

}  // namespace

CaseStarter::CaseStarter() : nothing_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

const std::string& CaseStarter::program(const std::string& name) {
  auto [at, fresh] = found_.try_emplace(name, name);
  if (!fresh || name.find('/') != std::string::npos) return at->second;
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : text::split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = (directory.empty() ? "." : std::string(directory)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) != 0) continue;
    at->second = std::move(candidate);
    return at->second;
  }
  at->second.clear();
  return at->second;
}

Result<pid_t> CaseStarter::start(const CaseCommand& command, int output) {
  const std::string& path = program(command.arguments.front());
  if (path.empty()) {
    found_.erase(command.arguments.front());  // it may come
    return failure_from_errno(command.arguments.front(), ENOENT);
  }
  std::vector<char*> arguments;
  for (const std::string& one : command.arguments) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment = laid_over(command.environment);

  const Start what{path.c_str(), arguments.data(), environment.data(), nothing_.get(), output, ::getpid()};
  int problem = 0;
  const pid_t pid = start_process(what, problem);
  if (problem != 0) return failure_from_errno(path, problem);
  return pid;
}

uint64_t out_of_memory_kills() {
  const auto groups = os::read_file("/proc/self/cgroup", 65536);
  if (!groups) return 0;
  for (const std::string_view line : text::split(*groups, '\n')) {
    const auto parts = text::split(line, ':');
    if (parts.size() < 3) continue;
    const std::string_view path = line.substr(parts[0].size() + parts[1].size() + 2);
    if (parts[1].empty()) {
      const uint64_t kills = counter("/sys/fs/cgroup" + std::string(path) + "/memory.events", "oom_kill");
      if (kills > 0) return kills;
    }
    if (parts[1] == "memory")
      return counter("/sys/fs/cgroup/memory" + std::string(path) + "/memory.oom_control", "oom_kill");
  }
  return 0;
}

}  // namespace minke::farming
