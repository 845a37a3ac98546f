#include "helpers/mail/own_command.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "config/own_commands.h"
#include "helpers/user_environment.h"
#include "model/job_record.pb.h"
#include "os/become.h"
#include "os/files.h"
#include "os/pipe.h"
#include "text/printable.h"
#include "text/state.h"
#include "view/text.h"

namespace minke::helpers {
namespace {

constexpr rlim_t kMoreTasks = 32, kDataBytes = rlim_t{512} << 20, kCpuSeconds = 10;
constexpr size_t kMostStatusBytes = 8192;
constexpr int kNiceness = 10;

// The tasks that a user has on this machine, as RLIMIT_NPROC counts them.
rlim_t tasks_of(uid_t uid) {
  rlim_t tasks = 0;
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return 0;
  while (const dirent* one = ::readdir(processes)) {
    struct stat status {};
    if (one->d_name[0] < '0' || one->d_name[0] > '9' ||
        ::fstatat(::dirfd(processes), one->d_name, &status, 0) != 0 || status.st_uid != uid)
      continue;
    const auto text = os::read_file("/proc/" + std::string(one->d_name) + "/status", kMostStatusBytes);
    const size_t at = text ? text->find("\nThreads:\t") : std::string::npos;
    tasks += at == std::string::npos ? 1 : std::strtoul(text->c_str() + at + 10, nullptr, 10);
  }
  ::closedir(processes);
  return tasks;
}

void limit(__rlimit_resource_t what, rlim_t most) {
  rlimit before{};
  if (::getrlimit(what, &before) != 0) return;
  const rlim_t now = before.rlim_max == RLIM_INFINITY ? most : std::min(most, before.rlim_max);
  const rlimit after{now, now};
  (void)::setrlimit(what, &after);
}

DeliveryOutcome refused(const std::string& reason) {
  return {Delivery::kRefused, reason};
}

std::string with_home(const std::string& word) {
  const char* home = std::getenv("HOME");
  return word.starts_with("~/") && home != nullptr ? home + word.substr(1) : word;
}

// In a process that is the owner's and executes the program; returns only if that fails.
void execute(std::vector<std::string> words, const OwnMessage& message) {
  for (const std::string& variable : message.variables) {
    const size_t sign = variable.find('=');
    ::setenv(variable.substr(0, sign).c_str(), variable.c_str() + sign + 1, 1);
  }
  words.front() = with_home(words.front());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  ::execvp(arguments[0], arguments.data());
}

DeliveryOutcome outcome_of(int status) {
  const std::string ended = "it ended with ";
  if (WIFSIGNALED(status)) return refused(ended + "signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) == 0) return {Delivery::kSent, {}};
  return {WEXITSTATUS(status) == EX_TEMPFAIL ? Delivery::kLater : Delivery::kRefused,
          ended + "code " + std::to_string(WEXITSTATUS(status))};
}

// Runs with the owner's rights; in a shared cluster as the first process of a namespace, so that it becomes
// the parent of all that are left behind.
DeliveryOutcome run_as_owner(const OwnMessage& message, bool shared) {
  const auto file = read_own_file(message.uid, shared, "commands.toml");
  if (!file) return refused(file.error().message);
  const auto words = config::command_words(*file, message.name);
  if (!words) return refused(words.error().message);
  const char* home = std::getenv("HOME");
  if (home == nullptr || ::chdir(home) != 0) (void)::chdir("/");
  auto started = os::make_pipe();  // closed by the program's start; else what went wrong comes through it
  if (!started) return {Delivery::kLater, started.error().message};
  const pid_t program = ::fork();
  if (program < 0) return {Delivery::kLater, "fork: " + std::string(std::strerror(errno))};
  if (program == 0) {
    execute(*words, message);
    const int problem = errno;
    (void)!::write(started->writer.get(), &problem, sizeof problem);
    ::_exit(1);
  }
  started->writer.reset();
  int problem = 0;
  if (::read(started->reader.get(), &problem, sizeof problem) == sizeof problem)
    return refused(text::printable(words->front()) + " cannot be run: " + std::strerror(problem));
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == program) return outcome_of(status);
    if (ended < 0 && errno != EINTR) return {Delivery::kLater, "its process was lost"};
  }
}

// In the child of run_own_command: becomes the owner, in bounds.
bool become_owner(const os::Rights& rights, const CommandPlace& place, rlim_t tasks) {
  ::setpgid(0, 0);
  set_user_environment(rights.uid, place.home);
  if (::geteuid() == 0 && !os::become(rights.uid, rights.gid, rights.groups)) return false;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the rights: a change of them resets it
  (void)!::nice(kNiceness);
  limit(RLIMIT_CORE, 0);
  if (!place.shared) return true;
  limit(RLIMIT_NPROC, tasks + kMoreTasks);
  limit(RLIMIT_DATA, kDataBytes);
  limit(RLIMIT_CPU, kCpuSeconds);
  return true;
}

}  // namespace

std::vector<std::string> command_variables(const MailContents& contents) {
  const model::JobRecord& job = contents.job.job();
  std::vector<std::string> variables = {
      "MINKE_JOB_ID=" + std::to_string(contents.message.job_id()),
      "MINKE_JOB_NAME=" + view::job_name(job),
      "MINKE_JOB_STATE=" + std::string(text::job_state_name(job.state())),
      "MINKE_JOB_EXIT_STATUS=" + std::to_string(text::exit_status_of(job.exit_code())),
      "MINKE_EVENT=" + std::string(mail_event_name(contents.message.event())),
      "MINKE_CLUSTER=" + contents.settings.cluster_name(),
      "MINKE_TEXT=" + mail_subject(contents)};
  return variables;
}

DeliveryOutcome run_own_command(const OwnMessage& message, const os::Rights& rights,
                                const CommandPlace& place, std::chrono::steady_clock::time_point deadline) {
  const rlim_t tasks = place.shared ? tasks_of(rights.uid) : 0;
  if (place.shared && ::unshare(CLONE_NEWPID) != 0)
    return {Delivery::kLater,
            "there is no namespace for its processes: " + std::string(std::strerror(errno))};
  auto pipe = os::make_pipe();
  if (!pipe) return {Delivery::kLater, pipe.error().message};
  const pid_t first = ::fork();
  if (first < 0) return {Delivery::kLater, "fork: " + std::string(std::strerror(errno))};
  if (first == 0) {
    if (!become_owner(rights, place, tasks)) ::_exit(1);
    const DeliveryOutcome outcome = run_as_owner(message, place.shared);
    const std::string said = std::to_string(static_cast<int>(outcome.delivery)) + outcome.reason;
    ::_exit(::write(pipe->writer.get(), said.data(), std::min(said.size(), size_t{PIPE_BUF})) > 0 ? 0 : 1);
  }
  ::setpgid(first, first);
  pipe->writer.reset();
  const auto ended = os::wait_or_kill(first, deadline);
  if (!ended) return refused("it took too long, and was ended");
  char said[PIPE_BUF];
  ssize_t got = 0;
  ::fcntl(pipe->reader.get(), F_SETFL, O_NONBLOCK);
  if (*ended == 0) got = ::read(pipe->reader.get(), said, sizeof said);
  const int delivery = got > 0 ? said[0] - '0' : -1;
  if (delivery < 0 || delivery > static_cast<int>(Delivery::kRefused))
    return {Delivery::kLater, "its process ended too early"};
  return {static_cast<Delivery>(delivery), std::string(said + 1, static_cast<size_t>(got) - 1)};
}

}  // namespace minke::helpers
