// salloc: gets an allocation, runs a command here with it, or a shell in it (where the cluster has its shells
// on the log-in side, here as well), and gives the allocation back.
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "api/jobs.pb.h"
#include "cli/allocation.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/srun/launch_environment.h"
#include "engine/embedded/client.h"
#include "engine/open.h"
#include "os/fd.h"
#include "os/pipe.h"
#include "rpc/messages.pb.h"
#include "submit/job_request.h"

namespace minke::cli {

namespace {

// --no-shell: an allocation lives as long as the process that asked for it, so a process stays in the
// background until the allocation ends. That process must be the one that asks; the salloc that was called
// waits for the grant, and leaves.
class Holder {
 public:
  // In the calling process: returns the exit status, once the allocation is granted or refused. In the other
  // one: returns nothing.
  std::optional<int> split_off() {
    auto pipe = os::make_pipe();
    if (!pipe) return complain(pipe.error());
    granted_ = std::move(pipe->writer);
    const pid_t child = ::fork();
    if (child == 0) return std::nullopt;
    granted_.reset();
    if (child < 0) return 1;
    char byte = 0;
    ssize_t got = 0;
    while ((got = ::read(pipe->reader.get(), &byte, 1)) < 0 && errno == EINTR) {
    }
    if (got == 1) return 0;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  // Lets the caller go, and waits for the end of the job.
  int hold(engine::Engine& cluster, uint32_t job_id) {
    ::setsid();
    if (::chdir("/") != 0) return 1;
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {0, 1, 2}) ::dup2(null, stream);
    (void)!::write(granted_.get(), "", 1);
    granted_.reset();
    api::WaitJobRequest request;
    request.set_job_id(job_id);
    request.set_until(api::WaitJobRequest::ENDED);
    return cluster.wait(request, [](api::WaitJobReply&) -> Status { return {}; }) ? 0 : 1;
  }

 private:
  os::UniqueFd granted_;
};

// A path, or a program on PATH.
bool can_be_found(const submit::Invocation& invocation, const std::string& program) {
  if (program.find('/') != std::string::npos) return true;
  std::string_view rest = invocation.variable("PATH").value_or("/bin:/usr/bin");
  while (true) {
    const std::string directory(rest.substr(0, rest.find(':')));
    const std::string candidate = (directory.empty() ? "." : directory) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0) return true;
    if (directory.size() >= rest.size()) return false;
    rest.remove_prefix(directory.size() + 1);
  }
}

// `program`: where the command is, or its name on PATH.
pid_t start_command(const std::string& program, const std::vector<std::string>& arguments,
                    const std::string& environment) {
  std::vector<char*> argv, variables;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  for (size_t at = 0; at < environment.size(); at += std::string_view(environment.data() + at).size() + 1) {
    variables.push_back(const_cast<char*>(environment.data() + at));
  }
  variables.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  for (const int signal_number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) std::signal(signal_number, SIG_DFL);
  ::execvpe(program.c_str(), argv.data(), variables.data());
  std::fprintf(stderr, "salloc: error: Unable to exec command \"%s\": %s\n", argv[0], std::strerror(errno));
  ::_exit(errno == ENOENT ? 127 : 126);
}

// Waits for the command, and meanwhile for the end of the allocation, which ends the command. Returns its
// status; `revoked` tells whether the allocation ended first.
int32_t wait_for_command(engine::embedded::Client& client, uint32_t job_id, pid_t child, int signal_number,
                         bool& revoked) {
  os::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  rpc::ClientMessage wait;
  wait.set_request_id(1);
  wait.mutable_wait_job()->set_job_id(job_id);
  wait.mutable_wait_job()->set_until(api::WaitJobRequest::ENDED);
  bool listening = static_cast<bool>(client.channel().send(wait));
  for (;;) {
    pollfd descriptors[] = {{process.get(), POLLIN, 0}, {listening ? client.channel().fd() : -1, POLLIN, 0}};
    if (::poll(descriptors, 2, -1) < 0 && errno != EINTR) break;
    if (descriptors[0].revents != 0) break;
    if (descriptors[1].revents == 0) continue;
    rpc::ServerMessage message;
    const Status received = client.channel().receive(message);
    if (!received) {
      // The daemon was restarted: the allocation is still ours.
      listening = client.reconnect() && client.channel().send(wait);
      continue;
    }
    if (message.last()) {
      std::fprintf(stderr, "salloc: Job allocation %u has been revoked.\n", job_id);
      ::kill(child, signal_number);
      listening = false;
      revoked = true;
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The allocation while the command runs: starts the command, ends it, and gives the allocation back.
class Session {
 public:
  Session(engine::Engine& cluster, engine::embedded::Client& client, const submit::Invocation& invocation,
          const submit::JobRequest& request, const Allocation& allocation)
      : cluster_(cluster),
        client_(client),
        invocation_(invocation),
        request_(request),
        job_id_(allocation.job.job_id()),
        // The nodes of components differ: their shell stays here.
        interactive_step_(allocation.interactive_step && request.het_components.empty()) {}

  // Returns the exit status of salloc.
  int run(const std::string& environment) {
    std::vector<std::string> command = request_.arguments;
    const bool interactive = command.empty();
    std::string program = interactive ? shell() : command.front();
    if (interactive) command.push_back(program);
    if (!can_be_found(invocation_, command.front())) {
      std::fprintf(stderr, "salloc: error: _fork_command: Unable to find command \"%s\"\n",
                   command.front().c_str());
      (void)relinquish(1 << 8);
      return 1;
    }
    if (interactive && interactive_step_) {
      command = step_command(program);
      program = "/proc/self/exe";
    }
    // The command handles Ctrl-C.
    for (const int signal_number : {SIGINT, SIGQUIT}) std::signal(signal_number, SIG_IGN);
    const pid_t child = start_command(program, command, environment);
    if (child < 0) return complain("fork: " + std::string(std::strerror(errno)));
    bool revoked = false;
    const int status = wait_for_command(client_, job_id_, child, interactive ? SIGHUP : SIGTERM, revoked);
    if (!revoked) {
      if (const Status given = relinquish(status); !given) return complain(given.error().message);
    }
    // salloc prints nothing for a command that a signal ended: most likely the user sent it.
    return WIFSIGNALED(status) ? 0 : WEXITSTATUS(status);
  }

 private:
  static std::string shell() {
    const char* shell = std::getenv("SHELL");
    return shell == nullptr || *shell == '\0' ? "/bin/sh" : shell;
  }

  // The shell as a step on the first node: with the job's limits, GPUs and directories.
  static std::vector<std::string> step_command(const std::string& shell) {
    std::vector<std::string> command = {"srun", "--interactive"};
    if (::isatty(STDIN_FILENO) != 0) command.emplace_back("--pty");
    command.push_back(shell);
    return command;
  }

  int complain(const std::string& message) const { return give_up(submit::refuse(invocation_, message, 1)); }

  Status relinquish(int status) {
    if (!request_.quiet) std::fprintf(stderr, "salloc: Relinquishing job allocation %u\n", job_id_);
    return give_back(cluster_, job_id_, status);
  }

  engine::Engine& cluster_;
  engine::embedded::Client& client_;
  const submit::Invocation& invocation_;
  const submit::JobRequest& request_;
  const uint32_t job_id_;
  const bool interactive_step_;
};

void tell_grant(const submit::JobRequest& request, const model::JobRecord& job, int invocation_release) {
  if (request.quiet) return;
  std::fprintf(stderr, "salloc: Granted job allocation %u\n", job.job_id());
  if (request.wait_all_nodes || invocation_release >= kSlurm24)
    std::fprintf(stderr, "salloc: Nodes %s are ready for job\n", job.node_list().c_str());
}

int allocate_and_run(const submit::Invocation& invocation, submit::JobRequest& request,
                     const std::string& environment) {
  const auto complain = [&](const std::string& message) {
    return give_up(submit::refuse(invocation, message, 1));
  };
  Holder holder;
  if (request.no_shell) {
    if (const auto status = holder.split_off()) return *status;
  }
  const auto cluster = engine::open();
  if (!cluster) return complain("Job submit/allocate failed: " + cluster.error().message);
  const auto client = (*cluster)->steps_with_descriptors();
  if (!client) return complain("Job submit/allocate failed: " + client.error().message);
  if (const auto status = answer_before_submission(**cluster, "salloc", request)) return *status;
  auto allocation = allocate(**cluster, invocation, request, environment);
  if (!allocation)
    return give_up_allocation(invocation, request, "Job submit/allocate failed: ", allocation.error());
  tell_grant(request, allocation->job, invocation.release);
  const uint32_t id = allocation->job.job_id();
  if (request.no_shell) return holder.hold(**cluster, id);
  return Session(**cluster, **client, invocation, request, *allocation)
      .run(add_to_environment(environment, allocation->environment));
}

}  // namespace

int salloc_main(int argc, char** argv) {
  const submit::Invocation invocation = current_invocation(submit::Command::kSalloc, argc, argv);
  const auto complain = [&](const std::string& message) {
    return give_up(submit::refuse(invocation, message, 1));
  };
  const auto line = submit::read_command_line(invocation);
  if (!line) return give_up(invocation, line.error());
  if (line->show != submit::ShowOnly::kNothing) return show(submit::Command::kSalloc, *line);
  auto request = submit::make_job_request(invocation, *line);
  if (!request) return give_up(invocation, request.error());
  print_notes(*request);
  complete_submission(*request, argc, argv);
  // The command runs in the directory of --chdir.
  const std::string& directory = request->spec.work_dir();
  if (directory != invocation.working_directory && ::chdir(directory.c_str()) != 0)
    return complain("chdir(" + directory + "): " + std::strerror(errno));
  const auto environment = job_environment(invocation, *request);
  if (!environment) return complain(environment.error().message);
  return allocate_and_run(invocation, *request, *environment);
}

}  // namespace minke::cli
