#include "cli/srun/launch_environment.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include "api/submission.pb.h"
#include "base/version.h"
#include "cli/version_line.h"
#include "environment/job_environment.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "options/completion.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/pipe.h"
#include "submit/advice.h"
#include "submit/completion.h"
#include "submit/environment.h"
#include "submit/help.h"
#include "text/number.h"

extern char** environ;

namespace minke::cli {

namespace {
constexpr size_t kMaxNamedFileBytes = size_t{1} << 20;
}  // namespace

submit::Invocation current_invocation(submit::Command command, int argc, char** argv) {
  submit::Invocation invocation;
  invocation.command = command;
  invocation.release = spoken_release();
  for (int i = 1; i < argc; ++i) invocation.arguments.emplace_back(argv[i]);
  for (char** variable = environ; *variable != nullptr; ++variable)
    invocation.environment.emplace_back(*variable);
  char directory[PATH_MAX];
  invocation.working_directory = ::getcwd(directory, sizeof(directory)) != nullptr ? directory : "/";
  invocation.now = std::time(nullptr);
  invocation.is_own_user = [](std::string_view name) {
    const passwd* user = getpwuid(getuid());
    return text::parse_unsigned(name) == getuid() || (user != nullptr && name == user->pw_name);
  };
  invocation.is_own_group = [](std::string_view name) {
    const ::group* group = getgrgid(getgid());
    return text::parse_unsigned(name) == getgid() || (group != nullptr && name == group->gr_name);
  };
  invocation.read_file = [](const std::string& path) {
    auto content = os::read_file(path, kMaxNamedFileBytes);
    // Slurm's messages already name the file.
    if (!content)
      return Result<std::string>(failure(std::strerror(content.error().code), content.error().code));
    return content;
  };
  return invocation;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  ::gethostname(name, sizeof(name) - 1);
  const std::string full = name;
  return full.substr(0, full.find('.'));
}

std::string nice_value() {
  return std::to_string(::getpriority(PRIO_PROCESS, 0));
}

uint32_t current_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

namespace {
// Whether -vv tells what a job inherits; salloc says nothing of it.
bool tells_inherited(const submit::JobRequest& request) {
  return request.verbose > 1 && !request.quiet && request.command != submit::Command::kSalloc;
}

// What else jobs inherit, behind the limits. A umask that a variable gives is not the command's own.
void tell_inherited(const submit::JobRequest& request) {
  if (!tells_inherited(request)) return;
  const std::string name(submit::command_name(request.command));
  std::fprintf(stderr, "%s: debug:  propagating SLURM_PRIO_PROCESS=%s\n", name.c_str(), nice_value().c_str());
  if (std::getenv("SLURM_UMASK") != nullptr) return;
  std::fprintf(stderr, "%s: debug:  propagating UMASK=%04o\n", name.c_str(),
               static_cast<unsigned>(request.spec.umask()));
}
}  // namespace

void complete_submission(submit::JobRequest& request, int argc, char** argv) {
  model::JobSpec& spec = request.spec;
  spec.set_submit_host(host_name());
  spec.set_submit_line(submit_line(argc, argv));
  spec.set_umask(request.umask.value_or(current_umask()));
  propagate_limits(request);
  tell_inherited(request);
  for (model::JobSpec& component : request.het_components) {
    component.set_submit_host(spec.submit_host());
    component.set_submit_line(spec.submit_line());
    component.set_umask(spec.umask());
    *component.mutable_resource_limits() = spec.resource_limits();
  }
}

void put_specs(const submit::JobRequest& request, api::SubmitRequest& submission) {
  if (request.het_components.empty()) {
    *submission.mutable_spec() = request.spec;
    return;
  }
  submission.mutable_het_components()->Assign(request.het_components.begin(), request.het_components.end());
}

void propagate_limits(submit::JobRequest& request) {
  constexpr struct {
    const char* name;
    int resource;
  } kLimits[] = {{"CPU", RLIMIT_CPU},     {"FSIZE", RLIMIT_FSIZE},   {"DATA", RLIMIT_DATA},
                 {"STACK", RLIMIT_STACK}, {"CORE", RLIMIT_CORE},     {"RSS", RLIMIT_RSS},
                 {"NPROC", RLIMIT_NPROC}, {"NOFILE", RLIMIT_NOFILE}, {"MEMLOCK", RLIMIT_MEMLOCK},
                 {"AS", RLIMIT_AS}};
  for (const auto& known : kLimits) {
    // The default is all of them.
    if (request.propagate && std::find(request.propagate->begin(), request.propagate->end(), known.name) ==
                                 request.propagate->end()) {
      continue;
    }
    rlimit value{};
    if (::getrlimit(static_cast<__rlimit_resource>(known.resource), &value) != 0) continue;
    model::ResourceLimit& limit = *request.spec.add_resource_limits();
    limit.set_name(known.name);
    limit.set_soft(value.rlim_cur);
    if (tells_inherited(request)) {
      std::fprintf(stderr, "%s: debug:  propagating RLIMIT_%s=%llu\n",
                   std::string(submit::command_name(request.command)).c_str(), known.name,
                   static_cast<unsigned long long>(value.rlim_cur));
    }
  }
}

namespace {

constexpr uint32_t kLoginShellSeconds = 8;
constexpr size_t kMaxEnvironmentBytes = size_t{8} << 20;

// Returns what the user's shell, a login shell or not, makes of an empty environment.
Result<std::string> user_environment(uint32_t seconds, bool login) {
  const passwd* entry = getpwuid(getuid());
  if (entry == nullptr) return failure("the user's login shell is not known");
  const std::string variables[] = {
      std::string("HOME=") + entry->pw_dir, std::string("USER=") + entry->pw_name,
      std::string("LOGNAME=") + entry->pw_name, std::string("SHELL=") + entry->pw_shell,
      "PATH=/usr/local/bin:/usr/bin:/bin"};
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reader, writer] = *pipe;
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    std::vector<char*> environment;
    for (const std::string& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
    environment.push_back(nullptr);
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, 0);
    ::dup2(writer.get(), 1);
    ::dup2(null, 2);
    const char* with_login[] = {entry->pw_shell, "-l", "-c", "env -0", nullptr};
    const char* without_login[] = {entry->pw_shell, "-c", "env -0", nullptr};
    ::execve(entry->pw_shell, const_cast<char* const*>(login ? with_login : without_login),
             environment.data());
    ::_exit(127);
  }
  writer.reset();
  std::string block;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  bool complete = false;
  while (block.size() < kMaxEnvironmentBytes) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd descriptor{reader.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&descriptor, 1, static_cast<int>(left)) == 0) break;
    char buffer[16 << 10];
    const ssize_t got = ::read(reader.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    complete = got == 0;
    if (got <= 0) break;
    block.append(buffer, static_cast<size_t>(got));
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!complete || block.empty())
    return failure("the login shell gave no environment within " + std::to_string(seconds) + " s");
  return block;
}

// Returns the variables of the block without those of these names.
std::string without(std::string_view block, std::initializer_list<std::string_view> names) {
  std::string kept;
  for (std::string_view line : text::split(block, '\0')) {
    const std::string_view name = line.substr(0, line.find('='));
    if (line.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
    kept.append(line).push_back('\0');
  }
  return kept;
}

// Removes what a submitting job would pass on of itself, and the new job would take for its own.
std::string without_other_jobs(std::string_view block, const model::JobSpec& spec) {
  const bool had_cpus = environment::has_variable(block, "SLURM_CPUS_PER_TASK=");
  std::string own = without(block, {"SLURM_CPUS_PER_TASK", "SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS",
                                    "SLURM_JOB_ACCOUNT", "SLURM_JOB_QOS"});
  if (had_cpus && !spec.has_cpus_per_task())
    own.append("SLURM_CPUS_PER_TASK=1").push_back('\0');  // as in Slurm
  return own;
}

}  // namespace

Result<std::string> job_environment(const submit::Invocation& invocation, const submit::JobRequest& request) {
  const std::string& option = request.spec.export_option();
  std::string block;
  if (request.spec.get_user_env() || submit::export_needs_user_env(option)) {
    auto login = user_environment(request.user_env_seconds.value_or(kLoginShellSeconds),
                                  !request.user_env_without_login);
    if (!login) return failure(login.error());
    block = std::move(*login);
  }
  // Exported variables come last, and so override the others.
  block += submit::export_environment(invocation.environment, option);
  if (request.command == submit::Command::kSbatch) block = without_other_jobs(block, request.spec);
  if (request.command != submit::Command::kSrun || !request.job_id)
    block = without(block, {"SLURM_SUBMIT_DIR"})
                .append("SLURM_SUBMIT_DIR=" + invocation.working_directory + '\0');
  if (!request.export_file.empty()) {
    const bool descriptor = text::is_digits(request.export_file);
    auto content = os::read_file(descriptor ? "/proc/self/fd/" + request.export_file : request.export_file,
                                 kMaxEnvironmentBytes);
    if (!content) {
      return failure("Could not open user environment file " + request.export_file + " (" +
                     content.error().message + ")");
    }
    auto entries = submit::read_export_file(*content);
    if (!entries) return failure(entries.error());
    block += *entries;
  }
  block += "SLURM_PRIO_PROCESS=" + nice_value() + '\0';
  return block;
}

int show(submit::Command command, const submit::CommandLine& line) {
  switch (line.show) {
    case submit::ShowOnly::kMatching:
      std::fputs(options::matching_options(submit::completed_command(command).options, line.begun).c_str(),
                 stdout);
      break;
    case submit::ShowOnly::kVersion:
      std::fputs(version_line().c_str(), stdout);
      break;
    case submit::ShowOnly::kUsage:
      std::fputs(submit::usage_text(command).c_str(), stdout);
      break;
    default:
      std::fputs(submit::help_text(command).c_str(), stdout);
  }
  return 0;
}

std::string submit_line(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    line += (i == 0 ? word.substr(word.rfind('/') + 1) : " " + word);
  }
  return line;
}

std::string refusal_text(const submit::JobRequest& request, const std::string& before, const Error& error) {
  // Slurm's commands themselves find what is wrong with generic resources.
  if (error.code == model::kInvalidGres) return error.message;
  if (error.code != model::kInvalidPartitionName) return before + error.message;
  // Slurm's commands name the missing one in a line of its own.
  constexpr std::string_view kMissing = "(there is no partition ";
  std::string name = request.spec.partition();
  std::string others;  // " (there is main, gpu)"
  if (const size_t at = error.message.find(kMissing); at != std::string::npos) {
    name = error.message.substr(at + kMissing.size());
    if (name.ends_with(')')) name.pop_back();
    if (const size_t colon = name.find(": "); colon != std::string::npos) {
      others = " (" + name.substr(colon + 2) + ")";
      name.resize(colon);
    }
  }
  return "invalid partition specified: " + name + "\n" + before +
         std::string(model::slurm_error_text(error.code)) + others;
}

int give_up_allocation(const submit::Invocation& invocation, const submit::JobRequest& request,
                       const std::string& before, const Error& error) {
  submit::Refusal refusal = submit::refuse(invocation, refusal_text(request, before, error), 1);
  const auto status = invocation.variable("SLURM_EXIT_IMMEDIATE");
  if (status && error.code == model::kCannotStartImmediately) {
    if (const auto value = text::parse_unsigned(*status, 255)) refusal.exit_status = static_cast<int>(*value);
  }
  return give_up(invocation, refusal);
}

int give_up(const submit::Invocation& invocation, const submit::Refusal& refusal,
            const std::optional<submit::ScriptFile>& script) {
  return give_up(submit::with_advice(invocation, script, refusal));
}

int give_up(const submit::Refusal& refusal) {
  std::fputs(refusal.text.c_str(), refusal.is_help ? stdout : stderr);
  return refusal.exit_status;
}

void print_notes(const submit::JobRequest& request) {
  if (request.quiet) return;
  for (const std::string& note : request.notes) {
    std::fprintf(stderr, "%s: %s\n", std::string(submit::command_name(request.command)).c_str(),
                 note.c_str());
  }
}

}  // namespace minke::cli
