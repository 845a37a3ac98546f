#include "helpers/task.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "helpers/bind_memory.h"
#include "helpers/copy_file.h"
#include "helpers/programs.h"
#include "mpi/server.h"
#include "os/fd.h"
#include "os/pipe.h"
#include "os/this_program.h"
#include "text/cpu_bind.h"

namespace minke::helpers {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kEpilogTime = std::chrono::seconds(5);  // then the epilog is killed
constexpr size_t kMostPrologOutput = size_t{1} << 20;

constexpr char kMpi[] = "--mpi=", kBind[] = "--cpu-bind=", kMemory[] = "--mem-bind=", kProlog[] = "--prolog=",
               kEpilog[] = "--epilog=", kSet[] = "--set=", kStopped[] = "--stopped", kGpus[] = "--tell-gpus",
               kSystem[] = "--system=";

void say_error(const std::string& text) {
  std::fprintf(stderr, "slurmstepd: error: %s\n", text.c_str());
}

uint32_t number_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
}

Status join_mpi(const std::string& address) {
  const auto variables = mpi::connect_rank(address, number_variable("SLURM_PROCID"));
  if (!variables) return failure(variables.error());
  for (const std::string& variable : *variables) {
    const size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  return {};
}

// A CPU that this machine lacks, or that this process may not use, leaves the task unbound: it prints
// that, and continues.
void bind_cpus(const std::string& text) {
  const auto bind = text::parse_cpu_bind(text);
  if (!bind) return;
  const uint32_t local = number_variable("SLURM_LOCALID");
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<uint32_t> wanted;
  if (bind->kind == text::CpuBind::kRank) wanted = {local};
  if (!bind->cpus.empty()) wanted = bind->cpus[local % bind->cpus.size()];
  bool bound = false;
  if (!wanted.empty()) {
    for (const uint32_t cpu : wanted) {
      if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    }
    bound = ::sched_setaffinity(0, sizeof set, &set) == 0;
    if (!bound)
      say_error("sched_setaffinity(" + text::format_cpu_mask(wanted) + "): " + std::strerror(errno));
  }
  if (!bind->verbose) return;
  std::vector<uint32_t> now;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) now.push_back(cpu);
    }
  }
  const char* node = std::getenv("SLURMD_NODENAME");
  std::string kind = bind->word.empty() ? "" : "=" + bind->word;
  if (kind.ends_with(':')) kind.pop_back();
  std::fprintf(stderr, "cpu-bind%s - %s, task %2u %2u [%d]: mask %s%s\n",
               bind->kind == text::CpuBind::kMask   ? "=MASK"
               : bind->kind == text::CpuBind::kMap  ? "=MAP "
               : bind->kind == text::CpuBind::kRank ? "=RANK"
                                                    : "=NULL",
               node == nullptr ? "" : node, number_variable("SLURM_PROCID"), local,
               static_cast<int>(::getpid()), text::format_cpu_mask(now).c_str(), bound ? " set" : "");
}

// Obeys the prolog's output: "export NAME=value", "unset NAME", "print text", each with any spaces behind the
// first word; other lines mean nothing.
void obey(std::string_view output) {
  while (!output.empty()) {
    std::string line(output.substr(0, output.find('\n')));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    const std::string word = line.substr(0, space);
    const std::string rest = line.substr(std::min(line.find_first_not_of(' ', space), line.size()));
    if (word == "export") {
      const size_t equals = rest.find('=');
      if (equals == std::string::npos || equals == 0) continue;
      ::setenv(rest.substr(0, equals).c_str(), rest.c_str() + equals + 1, 1);
    } else if (word == "unset") {
      ::unsetenv(rest.c_str());
    } else if (word == "print") {
      std::printf("%s\n", rest.c_str());
    }
  }
  std::fflush(stdout);
}

// Slurm gives prolog and epilog no arguments but their path.
Status check_program(const std::string& program, const std::string& what) {
  if (program.front() != '/') {
    say_error("run_command: " + what + " is not fully qualified pathname (" + program + ")");
    return failure(what.substr(what.find(' ') + 1) + " did not run");
  }
  if (::access(program.c_str(), R_OK | X_OK) != 0) {
    say_error("Could not run " + what + " [" + program + "]: " + std::strerror(errno));
    return failure(what.substr(what.find(' ') + 1) + " did not run");
  }
  return {};
}

[[noreturn]] void execute_alone(const std::string& program) {
  char* arguments[] = {const_cast<char*>(program.c_str()), nullptr};
  ::execv(program.c_str(), arguments);
  ::_exit(127);
}

// `whose` is "user", or "slurm" for the cluster's own. The error's code is the program's exit status.
Status run_prolog(const std::string& program, const std::string& whose) {
  if (const Status fine = check_program(program, whose + " task_prolog"); !fine)
    return failure(fine.error().message, 1);
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reader, writer] = *pipe;
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    ::dup2(writer.get(), STDOUT_FILENO);
    ::setenv("SLURM_SCRIPT_CONTEXT", "prolog_task", 1);
    ::setenv("SLURM_TASK_PID", std::to_string(::getppid()).c_str(), 1);
    execute_alone(program);
  }
  writer.reset();
  std::string output;
  char buffer[4096];
  for (ssize_t got; (got = ::read(reader.get(), buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (output.size() < kMostPrologOutput) output.append(buffer, static_cast<size_t>(got));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  obey(output);
  if (status != 0) {
    return failure(WIFEXITED(status) ? "TaskProlog failed status=" + std::to_string(WEXITSTATUS(status))
                                     : "TaskProlog ended by a signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  return {};
}

void run_epilog(const std::string& program, const std::string& whose) {
  if (!check_program(program, whose + " task_epilog")) return say_error("TaskEpilog failed status=-1");
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::setenv("SLURM_SCRIPT_CONTEXT", "epilog_task", 1);
    execute_alone(program);
  }
  if (child < 0) return;
  const auto deadline = Clock::now() + kEpilogTime;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > deadline) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    ::poll(nullptr, 0, 5);
  }
  if (status != 0) say_error("TaskEpilog failed status=" + std::to_string(status));
}

[[noreturn]] void execute(char** argv) {
  const std::string name = argv[0];
  // As the launcher does without us: the program is told the path where it was found.
  std::string path = name;
  std::error_code none;
  if (name.starts_with('.') || name.find('/') == std::string::npos)
    path = find_program(name, std::filesystem::current_path(none));
  argv[0] = path.data();
  ::execvp(argv[0], argv);
  int error = errno;
  if (error == ENOENT && path.find('/') == std::string::npos) {  // the working directory comes last
    ::execv(("./" + name).c_str(), argv);
    error = errno;
  }
  const bool is_searched = error == ENOENT && name.find('/') == std::string::npos;
  say_error("execve(): " + name + ": " + std::strerror(error) +
            (error == EACCES ? " (to make a program of the file: chmod +x)"
             : is_searched   ? " (it is in no directory of PATH)"
                             : ""));
  ::_exit(error);
}

// A script's shell is signalled alone, by its process id, which is ours if an epilog follows. The signals
// that end a job (SIGTERM, SIGCONT) reach all of its processes anyway.
pid_t forwarded_to = 0;

void forward_signals() {
  for (int number = 1; number < NSIG; ++number) {
    if (number == SIGCHLD || number == SIGKILL || number == SIGSTOP || number == SIGTERM || number == SIGCONT)
      continue;
    std::signal(number, [](int signal_number) { ::kill(forwarded_to, signal_number); });
  }
}

// Runs before the program, in its own process. Before it returns false it prints why, and sets `status`.
bool prepare(const std::string& prolog, bool system, int& status) {
  if (prolog.empty()) return true;
  const Status done = run_prolog(prolog, system ? "slurm" : "user");
  if (done) return true;
  say_error(done.error().message);
  status = system ? done.error().code : 1;
  return false;
}

// Runs the program as a child, so that the epilog can follow it. Its end becomes ours. The cluster's own
// epilog runs even if its prolog failed, and does not see what that exported.
int run_with_epilog(char** argv, const TaskOptions& options) {
  const bool system = !options.system.empty();
  const pid_t child = ::fork();
  if (child < 0) {
    say_error(std::string("fork: ") + std::strerror(errno));
    return 1;
  }
  if (child == 0) {
    ::setenv("SLURM_TASK_PID", std::to_string(::getpid()).c_str(), 1);
    int failed = 0;
    if (system && !prepare(options.prolog, true, failed)) ::_exit(failed);
    execute(argv);
  }
  // Signals to the step are for the program; it is in our process group and gets them itself.
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGCHLD && number != SIGKILL && number != SIGSTOP) std::signal(number, SIG_IGN);
  }
  if (options.system == "script") {
    forwarded_to = child;
    forward_signals();
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  run_epilog(options.epilog, system ? "slurm" : "user");
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);  // one core is enough
  ::kill(::getpid(), WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

// Returns the position of "--", which ends them; argc if it is missing. Sets variables at once.
int read_options(int argc, char** argv, TaskOptions& options) {
  int at = 1;
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    const std::string_view word = argv[at];
    const auto take = [&](const char* option, std::string& value) {
      if (word.starts_with(option)) value = word.substr(std::strlen(option));
    };
    take(kMpi, options.mpi_address);
    take(kBind, options.cpu_bind);
    take(kMemory, options.mem_bind);
    take(kProlog, options.prolog);
    take(kEpilog, options.epilog);
    take(kSystem, options.system);
    options.stopped = options.stopped || word == kStopped;
    options.tells_gpus = options.tells_gpus || word == kGpus;
    std::string variable;
    take(kSet, variable);
    if (const size_t equals = variable.find('='); equals != std::string::npos)
      ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  return at;
}

}  // namespace

std::vector<std::string> task_command(const TaskOptions& options) {
  const auto self = os::this_program();
  if (!self) return {};
  std::vector<std::string> command = {*self, "task"};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) command.push_back(option + value);
  };
  add(kMpi, options.mpi_address);
  add(kBind, options.cpu_bind);
  add(kMemory, options.mem_bind);
  add(kProlog, options.prolog);
  add(kEpilog, options.epilog);
  for (const std::string& variable : options.variables) add(kSet, variable);
  if (options.stopped) command.emplace_back(kStopped);
  if (options.tells_gpus) command.emplace_back(kGpus);
  command.push_back("--");
  return command;
}

int task_main(int argc, char** argv) {
  TaskOptions options;
  const int at = read_options(argc, argv, options);
  if (at + 1 >= argc) {
    std::fputs("minke task is for srun's own use\n", stderr);
    return 1;
  }
  if (!options.mpi_address.empty()) {
    if (const Status joined = join_mpi(options.mpi_address); !joined) {
      say_error(joined.error().message);
      return 1;
    }
  }
  if (!options.cpu_bind.empty()) bind_cpus(options.cpu_bind);
  if (!options.mem_bind.empty()) {
    const char* node = std::getenv("SLURMD_NODENAME");
    bind_memory(options.mem_bind, number_variable("SLURM_PROCID"), number_variable("SLURM_LOCALID"),
                node == nullptr ? "" : node);
  }
  if (const char* told = std::getenv(kGpuBindVariable); told != nullptr && options.system.empty()) {
    if (options.tells_gpus) std::fprintf(stderr, "gpu-bind: %s\n", told);
    ::unsetenv(kGpuBindVariable);
  }
  int status = 0;
  const bool later = !options.system.empty() && !options.epilog.empty();
  if (!later && !prepare(options.prolog, !options.system.empty(), status)) return status;
  if (options.stopped) std::raise(SIGSTOP);
  if (!options.epilog.empty()) return run_with_epilog(argv + at + 1, options);
  execute(argv + at + 1);
}

}  // namespace minke::helpers
