// srun: runs tasks, inside the allocation that it finds in its environment, or in one that it asks for first.
//
// The daemon has the tasks started with srun's own descriptors; srun waits, reports how they ended, and hands
// signals on. A daemon that is restarted meanwhile is asked again: the step's key makes sure that it runs
// once.
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/allocation.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/launch_environment.h"
#include "cli/step_io.h"
#include "model/error.h"
#include "submit/job_request.h"

namespace minke::cli {

namespace {

using Clock = std::chrono::steady_clock;

rpc::StepSpec step_spec(const submit::JobRequest& request, const std::string& environment, uint32_t tasks) {
  const model::JobSpec& job = request.spec;
  rpc::StepSpec spec;
  if (request.is_given("job-name") && request.given.at("job-name") == submit::Source::kCommandLine) {
    spec.set_name(job.name());
  }
  for (const std::string& argument : request.arguments) spec.add_argv(argument);
  spec.set_environment(environment);
  spec.set_work_dir(job.work_dir());
  if (job.has_min_nodes()) spec.set_min_nodes(std::min(job.min_nodes(), tasks));
  spec.set_ntasks(tasks);
  if (job.has_cpus_per_task()) spec.set_cpus_per_task(job.cpus_per_task());
  if (job.has_ntasks_per_node()) spec.set_ntasks_per_node(job.ntasks_per_node());
  if (job.has_mem_per_node_mib()) spec.set_mem_per_node_mib(job.mem_per_node_mib());
  if (job.has_mem_per_cpu_mib()) spec.set_mem_per_cpu_mib(job.mem_per_cpu_mib());
  *spec.mutable_gres_per_node() = job.gres_per_node();
  *spec.mutable_gpus_per_task() = job.gpus_per_task();
  *spec.mutable_gpus() = job.gpus();
  spec.set_node_list(job.node_list());
  spec.set_overlap(request.overlap);
  spec.set_exact(request.exact);
  if (job.has_time_limit_minutes()) spec.set_time_limit_minutes(job.time_limit_minutes());
  spec.set_kill_on_bad_exit(request.kill_on_bad_exit.value_or(false));
  spec.set_umask(request.umask.value_or(current_umask()));
  *spec.mutable_resource_limits() = job.resource_limits();
  spec.set_open_mode(job.open_mode());
  spec.set_immediate(request.immediate_seconds.has_value());
  return spec;
}

// How many tasks a step in this job has. Slurm's defaults: one a node; with --ntasks-per-node that many a
// node.
uint32_t count_tasks(const submit::JobRequest& request, const model::JobRecord& job) {
  if (request.spec.has_ntasks()) return request.spec.ntasks();
  const uint32_t nodes = request.spec.has_min_nodes() ? request.spec.min_nodes()
                                                      : std::max(1u, static_cast<uint32_t>(job.nodes_size()));
  return nodes * (request.spec.has_ntasks_per_node() ? request.spec.ntasks_per_node() : 1);
}

class StepRun {
 public:
  StepRun(Client& client, const submit::JobRequest& request, const submit::Invocation& invocation,
          uint32_t job_id)
      : client_(client), request_(request), invocation_(invocation), job_id_(job_id) {
    sigemptyset(&signals_);
    for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT})
      sigaddset(&signals_, number);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
    signal_fd_.reset(::signalfd(-1, &signals_, SFD_CLOEXEC));
  }

  // The exit status of srun.
  int run(rpc::StepSpec spec, StepIo& io) {
    rpc::ClientMessage message;
    message.set_request_id(1);
    rpc::CreateStepRequest& create = *message.mutable_create_step();
    create.set_key(random_key());
    create.set_job_id(job_id_);
    *create.mutable_spec() = std::move(spec);
    const std::vector<int> descriptors = io.descriptors();
    if (!client_.channel().send(message, descriptors)) lost_ = true;
    while (!ended_) {
      if (lost_ && !ask_again(message, descriptors)) return 1;
      pollfd waiting[] = {{client_.channel().fd(), POLLIN, 0}, {signal_fd_.get(), POLLIN, 0}};
      if (!client_.channel().has_buffered_frame()) {
        if (::poll(waiting, 2, -1) < 0 && errno != EINTR)
          return complain("poll: " + std::string(std::strerror(errno)));
        if (waiting[1].revents != 0) on_signal();
        if (waiting[0].revents == 0) continue;
      }
      rpc::ServerMessage reply;
      const Status received = client_.channel().receive(reply);
      if (!received) {
        if (received.error().code != ECONNRESET) return complain(received.error().message);
        lost_ = true;
        continue;
      }
      if (reply.request_id() != 1) continue;  // answers to signals
      if (reply.has_error()) {
        io.sent();
        return complain("Unable to create step for job " + std::to_string(job_id_) + ": " +
                        error_of(reply.error()).message);
      }
      handle(reply.step());
    }
    io.sent();
    io.finish();
    return exit_status();
  }

 private:
  int complain(const std::string& text) { return give_up(submit::refuse(invocation_, text, 1)); }

  bool ask_again(rpc::ClientMessage& message, const std::vector<int>& descriptors) {
    if (const Status connected = client_.reconnect(); !connected) {
      complain(connected.error().message);
      return false;
    }
    message.mutable_create_step()->set_resent(true);
    lost_ = !client_.channel().send(message, descriptors);
    return true;
  }

  void handle(const rpc::StepEvent& event) {
    const auto say = [&](const std::string& text) {
      if (!request_.quiet) std::fprintf(stderr, "srun: %s\n", text.c_str());
    };
    switch (event.event_case()) {
      case rpc::StepEvent::kWaiting:
        say("Job " + std::to_string(job_id_) + " step creation temporarily disabled, retrying (" +
            event.waiting() + ")");
        waited_ = true;
        break;
      case rpc::StepEvent::kNote:
        say(event.note());
        break;
      case rpc::StepEvent::kStarted:
        if (waited_) say("Step created for job " + std::to_string(job_id_));
        waited_ = false;
        step_id_ = event.started().step_id();
        started_ = true;
        break;
      case rpc::StepEvent::kTaskExit:
        task_ended(event.task_exit());
        break;
      case rpc::StepEvent::kEnded:
        ended_ = true;
        record_ = event.ended().step();
        launch_error_ = event.ended().launch_error();
        if (!launch_error_.empty()) complain(launch_error_);
        break;
      case rpc::StepEvent::kAttach:
      case rpc::StepEvent::EVENT_NOT_SET:
        break;
    }
  }

  void task_ended(const rpc::StepTaskExit& task) {
    if (task.status() == 0) return;
    const std::string who = "srun: error: " + task.node() + ": task " + std::to_string(task.rank()) + ": ";
    if (WIFSIGNALED(task.status())) {
      std::fprintf(stderr, "%s%s%s\n", who.c_str(), strsignal(WTERMSIG(task.status())),
                   WCOREDUMP(task.status()) ? " (core dumped)" : "");
    } else {
      std::fprintf(stderr, "%sExited with exit code %d\n", who.c_str(), WEXITSTATUS(task.status()));
    }
  }

  void send_signal(int number) {
    if (!started_) return;
    rpc::ClientMessage message;
    message.set_request_id(2);
    rpc::SignalRequest& signal = *message.mutable_signal();
    signal.mutable_filter()->add_jobs()->set_job_id(job_id_);
    signal.set_step_id(step_id_);
    signal.set_signal(static_cast<uint32_t>(number));
    (void)client_.channel().send(message);
  }

  void on_signal() {
    signalfd_siginfo info{};
    if (::read(signal_fd_.get(), &info, sizeof(info)) != sizeof(info)) return;
    const int number = static_cast<int>(info.ssi_signo);
    if (!started_ && number != SIGCONT) ::_exit(128 + number);  // the daemon drops what nobody waits for
    if (number != SIGINT) {
      if (number != SIGCONT) send_signal(number == SIGHUP || number == SIGQUIT ? SIGTERM : number);
      return;
    }
    // The first asks for a second one, unless --quit-on-interrupt.
    const auto now = Clock::now();
    if (!request_.quit_on_interrupt && now - last_interrupt_ > std::chrono::seconds(1)) {
      std::fprintf(stderr, "srun: interrupt (one more within 1 sec to abort)\n");
      last_interrupt_ = now;
      return;
    }
    std::fprintf(stderr, "srun: forcing job termination\n");
    send_signal(SIGKILL);
  }

  int exit_status() const {
    if (!launch_error_.empty()) return 1;
    const int32_t status = record_.exit_code();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  Client& client_;
  const submit::JobRequest& request_;
  const submit::Invocation& invocation_;
  uint32_t job_id_;
  sigset_t signals_;
  os::UniqueFd signal_fd_;
  bool lost_ = false, waited_ = false, started_ = false, ended_ = false;
  uint32_t step_id_ = 0;
  Clock::time_point last_interrupt_{};
  model::StepRecord record_;
  std::string launch_error_;
};

}  // namespace

int srun_main(int argc, char** argv) {
  const submit::Invocation invocation = current_invocation(submit::Command::kSrun, argc, argv);
  const auto complain = [&](const std::string& message) {
    return give_up(submit::refuse(invocation, message, 1));
  };
  const auto line = submit::read_command_line(invocation);
  if (!line) return give_up(line.error());
  if (line->show != submit::ShowOnly::kNothing) return show(submit::Command::kSrun, line->show);
  auto request = submit::make_job_request(invocation, *line);
  if (!request) return give_up(request.error());
  print_notes(*request);
  if (!request->het_components.empty())
    return complain("steps of heterogeneous jobs (\" : \") are not supported");
  complete_submission(*request, argc, argv);
  auto environment = job_environment(invocation, *request);
  if (!environment) return complain(environment.error().message);
  std::signal(SIGPIPE, SIG_IGN);

  auto client = Client::connect();
  if (!client) return complain("Unable to allocate resources: " + client.error().message);
  const bool own_allocation = !request->job_id.has_value();
  model::JobRecord job;
  if (own_allocation) {
    auto allocation = allocate(*client, invocation, *request, *environment);
    if (!allocation)
      return give_up_allocation(invocation, "Unable to allocate resources: ", allocation.error());
    job = allocation->job;
    *environment = add_to_environment(*environment, allocation->environment);
  } else {
    rpc::ClientMessage ask;
    ask.mutable_wait_job()->set_job_id(*request->job_id);
    ask.mutable_wait_job()->set_until(rpc::WaitJobRequest::STARTED);
    std::vector<std::string> variables;
    const Status found = client->stream(ask, [&](rpc::ServerMessage& reply) -> Status {
      job = reply.wait_job().job();
      variables.assign(reply.wait_job().environment().begin(), reply.wait_job().environment().end());
      if (!reply.last() && job.state() == model::JOB_PENDING)
        return failure("Job is pending execution", model::kJobPending);
      return {};
    });
    if (!found)
      return complain("Unable to confirm allocation for job " + std::to_string(*request->job_id) + ": " +
                      found.error().message);
    if (job.state() != model::JOB_RUNNING) {
      return complain("Unable to confirm allocation for job " + std::to_string(*request->job_id) +
                      ": Job/step already completing or completed");
    }
    // Called from outside of the job: its tasks get the job's variables all the same.
    if (!invocation.variable("SLURM_JOB_ID")) *environment = add_to_environment(*environment, variables);
  }
  const uint32_t tasks = count_tasks(*request, job);
  rpc::StepSpec spec = step_spec(*request, *environment, tasks);
  StepIo io;
  if (const Status ready = io.set_up(*request, tasks, spec); !ready) return complain(ready.error().message);
  if (io.descriptors().size() > 250) {
    return complain(
        "--label and standard input for that many tasks need more descriptors than can be passed on; use "
        "--output=FILE%t or --input=none");
  }
  StepRun run(*client, *request, invocation, job.job_id());
  const int status = run.run(std::move(spec), io);
  if (own_allocation) {
    (void)give_back(*client, job.job_id(), status > 128 ? status - 128 : status << 8);
  }
  return status;
}

}  // namespace minke::cli
