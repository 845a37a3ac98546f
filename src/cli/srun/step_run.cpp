#include "cli/srun/step_run.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>

#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/steps.pb.h"
#include "base/version.h"
#include "cli/srun/async_step.h"
#include "cli/srun/launch_environment.h"
#include "environment/job_paths.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/fd.h"
#include "os/random_key.h"
#include "rpc/envelope.h"
#include "rpc/messages.pb.h"
#include "text/cpu_bind.h"
#include "text/state.h"
#include "text/timestamp.h"

namespace minke::cli {

namespace {

constexpr uint32_t kStepRequest = 1, kSignalRequest = 2, kConfigRequest = 3;
// Tasks that end alike within this time share one line.
constexpr auto kGather = std::chrono::milliseconds(50);
// The time for a task to handle Ctrl-C before the step is killed.
constexpr auto kAfterInterrupt = std::chrono::milliseconds(200);

constexpr std::string_view kNodeLogLevels[] = {"quiet", "fatal",  "error",  "info",   "verbose",
                                               "debug", "debug2", "debug3", "debug4", "debug5"};
constexpr size_t kVerbose = 4, kDebug = 5, kDebug2 = 6;

// The level of --slurmd-debug; before 24.11, the node told two levels more.
size_t node_log_level(const submit::JobRequest& request) {
  const size_t more = spoken_release() < kSlurm24 ? 2 : 0;
  return std::min<size_t>(*request.slurmd_debug + more, std::size(kNodeLogLevels) - 1);
}

// Before 23.11 a plugin launched steps, and its messages say so.
std::string by_plugin(const char* function) {
  return spoken_release() < kSlurm24 ? "launch/slurm: " + std::string(function) + ": " : std::string();
}

}  // namespace

StepRun::StepRun(engine::embedded::Client& client, const submit::JobRequest& request,
                 const submit::Invocation& invocation, const model::JobRecord& job, uint32_t tasks,
                 std::unique_ptr<mpi::Server> mpi)
    : client_(client),
      request_(request),
      invocation_(invocation),
      job_(job),
      job_id_(job.job_id()),
      tasks_(tasks),
      mpi_(std::move(mpi)) {
  sigemptyset(&signals_);
  for (const int number :
       {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, SIGURG, SIGWINCH})
    sigaddset(&signals_, number);
  sigprocmask(SIG_BLOCK, &signals_, nullptr);
  signal_fd_.reset(::signalfd(-1, &signals_, SFD_CLOEXEC));
}

int StepRun::complain(const std::string& text) {
  return give_up(submit::refuse(invocation_, text, 1));
}

void StepRun::say(const std::string& text) const {
  if (!request_.quiet) std::fprintf(stderr, "srun: %s\n", text.c_str());
}

std::string StepRun::step_name() const {
  return "StepId=" + std::to_string(job_id_) + "." + std::to_string(step_id_);
}

int StepRun::run(api::StepSpec spec, std::vector<os::UniqueFd> descriptors, StepIo& io) {
  io_ = &io;
  descriptors_ = std::move(descriptors);
  message_.message().set_request_id(kStepRequest);
  api::CreateStepRequest& create = message_.body<api::CreateStepRequest>();
  create.set_key(os::random_key());
  create.set_job_id(job_id_);
  *create.mutable_spec() = std::move(spec);
  io.start();
  if (!ask(false)) return 1;
  while (!ended_) {
    if (lost_ && !ask(true)) return 1;
    if (const Status handled = handle_next(); !handled) return complain(handled.error().message);
  }
  io.finish();
  tell_tasks();
  if (record_.state() == model::JOB_TIMEOUT || (tasks_.any_terminated() && !told_abort_))
    say("Force Terminated " + step_name());
  return exit_status();
}

Status StepRun::handle_next() {
  if (!client_.channel().has_buffered_frame()) {
    std::vector<pollfd> waiting = {{client_.channel().fd(), POLLIN, 0}, {signal_fd_.get(), POLLIN, 0}};
    if (mpi_) waiting.push_back({mpi_->abort_descriptor(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), milliseconds_to_wait()) < 0 && errno != EINTR)
      return failure("poll: " + std::string(std::strerror(errno)));
    on_time();
    if (waiting[1].revents != 0) on_signal();
    if (mpi_ && waiting[2].revents != 0) on_abort();
    if (waiting[0].revents == 0) return {};
  }
  rpc::ServerMessage reply;
  if (const Status received = client_.channel().receive(reply); !received) {
    if (received.error().code != ECONNRESET) return failure(received.error());
    lost_ = true;
    return {};
  }
  if (reply.request_id() == kConfigRequest && reply.has_config()) on_configuration(reply.config());
  if (reply.request_id() != kStepRequest) return {};
  if (reply.has_error())
    return failure("Unable to create step for job " + std::to_string(job_id_) + ": " +
                   rpc::error_of(reply).message);
  handle(reply.step());
  return {};
}

void StepRun::on_configuration(const api::ConfigReply& configuration) {
  int seconds = 30;
  for (const api::Field& field : configuration.values()) {
    if (field.name() == "KillWait") seconds = std::atoi(field.value().c_str());
  }
  if (!aborting_) {
    kill_at_ = Clock::now() + std::chrono::seconds(seconds);
    return;
  }
  told_abort_ = true;
  say("Job step aborted: Waiting up to " + std::to_string(seconds + 2) + " seconds for job step to finish.");
}

bool StepRun::ask(bool again) {
  if (again) {
    if (const Status connected = client_.reconnect(); !connected) {
      complain(connected.error().message);
      return false;
    }
    message_.body<api::CreateStepRequest>().set_resent(true);
  }
  std::vector<int> descriptors;
  for (const os::UniqueFd& fd : descriptors_) descriptors.push_back(fd.get());
  lost_ = !client_.channel().send(message_.message(), descriptors);
  return true;
}

void StepRun::handle(const api::StepEvent& event) {
  switch (event.event_case()) {
    case api::StepEvent::kWaiting:
      say("Job " + std::to_string(job_id_) + " step creation temporarily disabled, retrying (" +
          event.waiting() + ")");
      waited_ = true;
      break;
    case api::StepEvent::kNote:
      // Messages of the step's own daemon in Slurm are printed unchanged.
      if (event.note().starts_with("Job step aborted")) {
        if (!std::exchange(told_abort_, true)) say(event.note());
      } else if (event.note().starts_with("slurmstepd: ")) {
        std::fprintf(stderr, "%s\n", event.note().c_str());
      } else {
        say(event.note());
      }
      break;
    case api::StepEvent::kStarted:
      on_started(event.started());
      break;
    case api::StepEvent::kTaskExit:
      on_task_exit(event.task_exit());
      break;
    case api::StepEvent::kEnded:
      ended_ = true;
      record_ = event.ended().step();
      launch_error_ = event.ended().launch_error();
      if (!launch_error_.empty()) complain(launch_error_);
      if (record_.state() == model::JOB_NODE_FAIL) complain("Node failure on " + record_.node_list());
      break;
    case api::StepEvent::kAttach:
      io_->attach(event.attach().socket());
      break;
    case api::StepEvent::EVENT_NOT_SET:
      break;
  }
}

void StepRun::tell_end_of_wait() const {
  if (spoken_release() < kSlurm24) return say("Step created for job " + std::to_string(job_id_));
  if (request_.verbose > 0) say("Step completed in JobId=" + std::to_string(job_id_) + ", retrying");
  say("Step created for " + step_name());
}

void StepRun::on_started(const api::StepStarted& started) {
  step_id_ = started.step_id();
  if (std::exchange(waited_, false)) tell_end_of_wait();
  if (std::exchange(started_, true)) return;  // repeated after the daemon was restarted
  pids_.assign(started.pids().begin(), started.pids().end());
  if (const Status open = io_->open_files(environment::pattern_values(job_), started); !open) {
    complain(open.error().message);
    abort_code_ = 1;
    send_signal(0);
  }
  if (told_ >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(told_, &step_id_, sizeof(step_id_));
    if (request_.async) leave_terminal();
  }
  descriptors_.clear();  // the tasks have them: now we notice when they close them
  if (request_.verbose > 0) tell_launch(started);
  if (request_.slurmd_debug) tell_node_log(started);
  if (request_.debugger_test) tell_processes(started);
  if (!mpi_) return;
  mpi::StepMap map;
  map.job_id = std::to_string(job_id_) + "." + std::to_string(step_id_);
  map.node_of_rank.assign(started.node_of_task().begin(), started.node_of_task().end());
  if (map.node_of_rank.empty()) return;
  if (const Status begun = mpi_->begin(std::move(map)); !begun) {
    complain("MPI: " + begun.error().message);
    abort_code_ = 1;
    send_signal(SIGKILL);
  }
}

void StepRun::tell_launch(const api::StepStarted& started) const {
  std::map<std::string, std::vector<uint32_t>> ranks;
  std::vector<std::string> nodes;
  for (int rank = 0; rank < started.node_of_task_size(); ++rank) {
    const auto [of_node, is_new] = ranks.try_emplace(started.node_of_task(rank));
    if (is_new) nodes.push_back(of_node->first);
    of_node->second.push_back(static_cast<uint32_t>(rank));
  }
  const auto bind = text::parse_cpu_bind(request_.spec.cpu_bind());
  say(by_plugin("launch_p_step_launch") +
      "CpuBindType=" + text::cpu_bind_type(bind.value_or(text::CpuBind())));
  for (const std::string& node : nodes) {
    const std::string list = helpers::format_ranks(ranks[node]);
    const std::string count = std::to_string(ranks[node].size());
    say("launching " + step_name() + " on host " + node + ", " + count +
        " tasks: " + (ranks[node].size() == 1 ? list : "[" + list + "]"));
  }
  for (const std::string& node : nodes) {
    say(by_plugin("_task_start") + "Node " + node + ", " + std::to_string(ranks[node].size()) +
        " tasks started");
  }
}

// The messages of the step's own daemon in Slurm, which --slurmd-debug shows.
void StepRun::tell_node_log(const api::StepStarted& started) const {
  const size_t level = node_log_level(request_);
  if (level < kVerbose) return;
  std::map<std::string, int> tasks;
  for (const std::string& node : started.node_of_task()) ++tasks[node];
  const std::string now = text::format_time(std::time(nullptr));
  for (const auto& [node, count] : tasks) {
    std::fprintf(stderr, "slurmstepd: debug levels are stderr='%s', logfile='info', syslog='quiet'\n",
                 std::string(kNodeLogLevels[level]).c_str());
    std::fprintf(stderr, "slurmstepd: starting %d tasks\n", count);
  }
  if (level >= kDebug) {
    for (size_t rank = 0; rank < std::min<size_t>(pids_.size(), started.node_of_task_size()); ++rank)
      std::fprintf(stderr, "slurmstepd: debug:  task %zu is process %u on %s\n", rank, pids_[rank],
                   started.node_of_task(static_cast<int>(rank)).c_str());
  }
  if (level >= kDebug2)
    std::fprintf(stderr, "slurmstepd: debug2: %u CPUs, %llu MiB of memory in all\n",
                 started.step().num_cpus(), static_cast<unsigned long long>(started.step().memory_mib()));
  for (size_t rank = 0; rank < pids_.size(); ++rank)
    std::fprintf(stderr, "slurmstepd: task %zu (%u) started %s\n", rank, pids_[rank], now.c_str());
}

void StepRun::tell_processes(const api::StepStarted& started) const {
  for (int rank = 0; rank < started.pids_size() && rank < started.node_of_task_size(); ++rank) {
    const api::StepSpec& spec = message_.read<api::CreateStepRequest>().spec();
    std::string program = spec.argv(0);
    if (rank < spec.programs_size()) program = spec.programs(rank).argv(0);
    say("task:" + std::to_string(rank) + ", host:" + started.node_of_task(rank) + ", pid:" +
        std::to_string(started.pids(rank)) + ", executable:" + program.substr(program.rfind('/') + 1));
  }
}

void StepRun::on_task_exit(const api::StepTaskExit& task) {
  if (request_.slurmd_debug && node_log_level(request_) >= kVerbose && task.rank() < pids_.size()) {
    const int status = task.status();
    const std::string end = WIFSIGNALED(status) ? " by signal " + std::to_string(WTERMSIG(status))
                                                : " with exit code " + std::to_string(WEXITSTATUS(status));
    std::fprintf(stderr, "slurmstepd: task %u (%u) exited%s.\n", task.rank(), pids_[task.rank()],
                 end.c_str());
  }
  if (request_.verbose > 0) {
    char status[16];
    std::snprintf(status, sizeof status, "0x%04x", static_cast<unsigned>(task.status()));
    say(by_plugin("_task_finish") + "Received task exit notification for 1 task of " + step_name() +
        " (status=" + status + ").");
    if (task.status() == 0)
      say(by_plugin("_task_finish") + task.node() + ": task " + std::to_string(task.rank()) + ": Completed");
  }
  io_->task_ended(task);
  const bool first = tasks_.ended() == 0;
  const bool left_others = mpi_ && mpi_->left_others(task.rank());
  tasks_.collect(task.rank(), task.node(), task.status());
  if (tasks_.has_news() && !tell_at_) tell_at_ = Clock::now() + kGather;
  if (tasks_.all_ended()) return;
  if (request_.wait_seconds.value_or(0) != 0 && first)
    wait_until_ = Clock::now() + std::chrono::seconds(*request_.wait_seconds);
  const bool failed = task.status() != 0 && request_.kill_on_bad_exit.value_or(false);
  if (failed || left_others) terminate();
}

void StepRun::terminate() {
  if (std::exchange(terminating_, true)) return;
  tell_tasks();
  say(by_plugin("_step_signal") + "Terminating " + step_name());
  send_signal(SIGTERM);
  ask_kill_wait();
}

// The answer decides when processes that do not end are killed, or the user is told.
void StepRun::ask_kill_wait() {
  rpc::ClientMessage message;
  message.set_request_id(kConfigRequest);
  message.mutable_query_config();
  (void)client_.channel().send(message);
}

// Slurm's order of events: the tasks get the signal, then the step is killed.
void StepRun::abort_step() {
  if (std::exchange(aborting_, true)) return;
  say("forcing job termination");
  ask_kill_wait();
}

void StepRun::on_abort() {
  const mpi::PmiAbort abort = mpi_->take_abort();
  if (abort_code_) return;
  abort_code_ = abort.exit_code == 0 ? 1 : abort.exit_code;
  std::string text = abort.message;
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) std::fprintf(stderr, "%s\n", text.c_str());
  terminate();
}

void StepRun::on_time() {
  const auto now = Clock::now();
  const auto due = [&](Moment& moment) {
    if (!moment || now < *moment) return false;
    moment.reset();
    return true;
  };
  if (due(tell_at_)) tell_tasks();
  if (due(wait_until_) && !tasks_.all_ended()) {
    say("First task exited " + std::to_string(*request_.wait_seconds) + "s ago");
    for (const std::string& line : tasks_.states(step_name())) std::fprintf(stderr, "%s\n", line.c_str());
    if (!std::exchange(terminating_, true)) say(by_plugin("_step_signal") + "Terminating " + step_name());
    send_signal(0);
  }
  if (due(kill_at_)) send_signal(0);
}

int StepRun::milliseconds_to_wait() const {
  Moment next;
  for (const Moment& moment : {tell_at_, wait_until_, kill_at_}) {
    if (moment && (!next || *moment < *next)) next = moment;
  }
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

void StepRun::tell_tasks() {
  tell_at_.reset();
  for (const std::string& line : tasks_.tell()) std::fprintf(stderr, "%s\n", line.c_str());
}

void StepRun::send_signal(int number) {
  if (!started_) return;
  rpc::ClientMessage message;
  message.set_request_id(kSignalRequest);
  api::SignalRequest& signal = *message.mutable_signal();
  signal.mutable_filter()->add_jobs()->set_job_id(job_id_);
  signal.set_step_id(step_id_);
  signal.set_signal(static_cast<uint32_t>(number));
  (void)client_.channel().send(message);
}

void StepRun::on_signal() {
  signalfd_siginfo info{};
  if (::read(signal_fd_.get(), &info, sizeof(info)) != sizeof(info)) return;
  const int number = static_cast<int>(info.ssi_signo);
  const auto& ignored = request_.ignored_signals;
  if (std::find(ignored.begin(), ignored.end(), info.ssi_signo) != ignored.end()) return;
  if (number == SIGCONT) return;
  if (number == SIGWINCH && request_.pty) return io_->resize();
  if (number == SIGQUIT) std::fprintf(stderr, "srun: Quit\n");
  const bool ends = number == SIGTERM || number == SIGHUP || number == SIGQUIT || number == SIGINT;
  if (!started_) {
    if (ends) ::_exit(128 + number);  // the daemon drops requests that nobody waits for
    return;
  }
  if (!ends) return send_signal(number);
  if (number != SIGINT) {
    abort_step();
    return send_signal(0);
  }
  // The first one asks for a second one, unless --quit-on-interrupt.
  const auto now = Clock::now();
  const bool second = last_interrupt_ && now - *last_interrupt_ <= std::chrono::seconds(1);
  if (request_.disable_status && !second) {
    std::fprintf(stderr, "srun: sending Ctrl-C to %s\n", step_name().c_str());
    last_interrupt_ = now;
    return send_signal(SIGINT);
  }
  if (!request_.quit_on_interrupt && !second) {
    std::fprintf(stderr, "srun: interrupt (one more within 1 sec to abort)\n");
    for (const std::string& line : tasks_.states(step_name())) std::fprintf(stderr, "%s\n", line.c_str());
    last_interrupt_ = now;
    return;
  }
  if (aborting_) return send_signal(0);
  std::fprintf(stderr, "srun: sending Ctrl-C to %s\n", step_name().c_str());
  send_signal(SIGINT);
  abort_step();
  kill_at_ = now + kAfterInterrupt;
}

int StepRun::exit_status() const {
  if (!launch_error_.empty()) return 1;
  if (abort_code_) return *abort_code_ & 0xff;
  if (tasks_.exit_code() != 0) return tasks_.exit_code();
  const int32_t status = record_.exit_code();
  if (status == text::kOutOfMemory) return 1;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  // A task that was lost, or stopped before it began, has no code.
  return code == 0 && record_.state() != model::JOB_COMPLETE ? 1 : code;
}

}  // namespace minke::cli
