#include "engine/embedded/client.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include "node/launch.pb.h"
#include "node/launcher.h"
#include "os/detached.h"
#include "os/minke_home.h"
#include "os/pipe.h"
#include "os/process.h"
#include "os/random_key.h"
#include "os/this_program.h"
#include "rpc/envelope.h"
#include "rpc/messages.pb.h"
#include "rpc/socket.h"

namespace minke::engine::embedded {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kStartTimeout = 30s;  // recovering a long queue takes time
constexpr auto kReconnectTimeout = 60s;
constexpr int kStarts = 5;  // of a daemon that ends before it is ready

bool nobody_listens(int error_number) {
  return error_number == ENOENT || error_number == ECONNREFUSED;
}
bool connection_lost(int code) {
  return code == ECONNRESET || code == EPIPE || code == ENOTCONN;
}

// Whether a repetition would fail or be carried out twice: the state does not show that this request was
// carried out before.
bool needs_key(rpc::ClientMessage::BodyCase kind) {
  using Message = rpc::ClientMessage;
  return kind == Message::kUpdateJob || kind == Message::kUpdateNode || kind == Message::kUpdatePartition ||
         kind == Message::kUpdateReservation || kind == Message::kUpdateAccounts || kind == Message::kTop ||
         kind == Message::kNotify || kind == Message::kSetTriggers || kind == Message::kClearTriggers ||
         kind == Message::kUpdateCrontab || kind == Message::kRemoveCrontab;
}

// The daemon's first line: "ready", "busy" (another daemon was faster), or why it cannot start. Empty: it
// ended before that. Error: the deadline has passed.
Result<std::string> first_line(int output, Clock::time_point deadline) {
  std::string said;
  while (said.find('\n') == std::string::npos) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd descriptor{output, POLLIN, 0};
    if (left <= 0) return failure("the time is over", ETIMEDOUT);
    const int ready = ::poll(&descriptor, 1, static_cast<int>(left));
    if (ready <= 0) continue;
    char buffer[4096];
    const ssize_t got = ::read(output, buffer, sizeof(buffer));
    if (got <= 0) break;
    said.append(buffer, static_cast<size_t>(got));
  }
  return said.substr(0, said.find('\n'));
}

// If this command runs in a job, the launcher, which is outside of the job, starts the daemon. A daemon
// started here would have the job's processors, limits, groups and namespaces. Returns the daemon's line;
// empty: the launcher left it to us, or there is none.
Result<std::string> start_by_launcher(const std::string& home, const std::string& program,
                                      Clock::time_point deadline) {
  auto launcher = rpc::Channel::connect(node::launcher_socket_path(home));
  if (!launcher) return std::string();
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reader, writer] = *pipe;
  node::DaemonMessage message;
  message.mutable_start_daemon()->set_program(program);
  const int passed[] = {writer.get()};
  if (!launcher->send(message, passed)) return std::string();
  writer.reset();
  // A launcher of another version does not answer, and one that hangs does not keep the pipe open.
  return first_line(reader.get(), deadline);
}

}  // namespace

Status start_daemon(const std::string& home) {
  const auto self = os::this_program();
  if (!self) return failure(self.error());
  const auto deadline = Clock::now() + kStartTimeout;
  auto line = start_by_launcher(home, *self, deadline);
  if (line && line->empty()) {
    std::vector<std::string> command = {*self, "daemon", "--home", home};
    // In a job whose launcher is gone, the daemon must leave the job by itself.
    if (std::getenv(node::kLaunchMarker) != nullptr) command.emplace_back("--leave-job");
    auto output = os::start_detached({.argv = std::move(command),
                                      .log_path = os::log_path(home),
                                      .without_variables = {node::kLaunchMarker, "SLURM_*", "SBATCH_*"}});
    if (!output) return failure(output.error());
    line = first_line(output->get(), deadline);
  }
  if (!line) return failure("the daemon did not answer within 30 s; see " + os::log_path(home));
  if (*line == "ready" || *line == "busy") return {};
  if (line->empty()) return failure("the daemon ended while it started; see " + os::log_path(home), EINTR);
  return failure(*line);
}

Client::~Client() = default;

// A daemon that does not answer is waited for, like one that restarts, but the user is told.
void Client::take(rpc::Channel channel) {
  channel_ = std::make_unique<rpc::Channel>(std::move(channel));
  channel_->when_silent([this] {
    if (told_of_silence_) return;
    const pid_t daemon = rpc::peer_of(channel_->fd()).pid;
    const std::string kept = os::what_keeps(daemon);
    if (kept.empty()) return;
    std::fprintf(stderr, "%s: the daemon (pid %d) does not answer: it %s; waiting\n",
                 program_invocation_short_name, static_cast<int>(daemon), kept.c_str());
    told_of_silence_ = true;
  });
}

Result<std::unique_ptr<Client>> Client::connect(bool start) {
  auto home = os::minke_home();
  if (!home) return failure(home.error());
  std::unique_ptr<Client> client(new Client);
  client->home_ = *home;
  if (!start) {
    auto channel = rpc::Channel::connect(os::socket_path(*home));
    if (!channel) return failure("no daemon runs", ECONNREFUSED);
    client->take(std::move(*channel));
    return client;
  }
  if (const Status connected = client->reconnect(); !connected) return failure(connected.error());
  return client;
}

Status Client::reconnect() {
  const auto deadline = Clock::now() + kReconnectTimeout;
  int ended_early = 0;
  for (auto pause = 1ms;; pause = std::min(pause * 2, 200ms)) {
    auto channel = rpc::Channel::connect(os::socket_path(home_));
    if (channel) {
      take(std::move(*channel));
      return {};
    }
    if (!nobody_listens(channel.error().code)) {
      return failure("the daemon cannot be reached: " + channel.error().message, channel.error().code);
    }
    if (Clock::now() > deadline) return failure("the daemon cannot be reached: " + channel.error().message);
    if (os::is_shared(home_)) {
      // Only root starts it. A client that had a connection waits for it to come back.
      if (!channel_)
        return failure("the cluster is down; an administrator can start it: minke up --shared", ECONNREFUSED);
      std::this_thread::sleep_for(pause);
      continue;
    }
    if (const Status started = start_daemon(home_); !started) {
      // It may have been killed by somebody, which is no reason to give up at once.
      if (started.error().code != EINTR || ++ended_early == kStarts) return started;
    }
    // It was started here or by somebody else, and will listen soon.
    std::this_thread::sleep_for(pause);
  }
}

Status Client::stream(rpc::ClientMessage request,
                      const std::function<Status(rpc::ServerMessage&)>& on_message) {
  bool delivered = false;
  const std::time_t first_sent = std::time(nullptr);
  if (needs_key(request.body_case())) request.set_key(os::random_key());
  for (int attempt = 0;; ++attempt) {
    const uint32_t id = next_request_id_++;
    request.set_request_id(id);
    if (attempt > 0) request.set_first_sent(first_sent);
    Status outcome = channel_->send(request);
    while (outcome) {
      rpc::ServerMessage message;
      outcome = channel_->receive(message);
      if (!outcome) break;
      if (message.request_id() != id && message.request_id() != 0) continue;
      if (message.has_error()) return failure(rpc::error_of(message));
      delivered = true;
      const bool last = message.last();  // on_message may move from the message
      if (const Status taken = on_message(message); !taken) return taken;
      if (last) return {};
    }
    // A partial answer cannot be requested again, except a wait, which only reports a change.
    if (!connection_lost(outcome.error().code) || attempt >= 100 || (delivered && !request.has_wait_job())) {
      return outcome;
    }
    if (const Status connected = reconnect(); !connected) return connected;
  }
}

Result<rpc::ServerMessage> Client::call(rpc::ClientMessage request) {
  rpc::ServerMessage answer;
  const Status outcome = stream(std::move(request), [&](rpc::ServerMessage& message) -> Status {
    rpc::merge_answer(answer, std::move(message));
    return {};
  });
  if (!outcome) return failure(outcome.error());
  return answer;
}

using Ask = rpc::ClientMessage;
using Answer = rpc::ServerMessage;

template <typename Reply, typename Request>
Result<Reply> Client::ask(Request* (Ask::*body)(), Request request, bool (Answer::*has)() const,
                          Reply* (Answer::*reply)()) {
  Ask message;
  *(message.*body)() = std::move(request);
  auto answer = call(std::move(message));
  if (!answer) return failure(std::move(answer.error()));
  if (!((*answer).*has)()) return failure("unexpected answer from the daemon");
  return std::move(*((*answer).*reply)());
}

template <typename Reply, typename Request>
Status Client::take_parts(Request* (Ask::*body)(), Request request, bool (Answer::*has)() const,
                          Reply* (Answer::*reply)(), const Take<Reply>& take) {
  Ask message;
  *(message.*body)() = std::move(request);
  return stream(std::move(message), [&](Answer& answer) -> Status {
    if (!(answer.*has)()) return failure("unexpected answer from the daemon");
    return take(*(answer.*reply)());
  });
}

Result<Identity> Client::identity() {
  const auto told = status();
  if (!told) return failure(told.error());
  return Identity{.cluster = told->cluster_name(), .product = "Minke", .version = told->version()};
}

Result<api::SubmitReply> Client::submit(api::SubmitRequest request) {
  return ask(&Ask::mutable_submit, std::move(request), &Answer::has_submit, &Answer::mutable_submit);
}

Result<std::string> Client::script(uint32_t job_id) {
  api::QueryScriptRequest request;
  request.set_job_id(job_id);
  auto reply =
      ask(&Ask::mutable_query_script, std::move(request), &Answer::has_script, &Answer::mutable_script);
  if (!reply) return failure(std::move(reply.error()));
  return std::move(*reply->mutable_script());
}

Status Client::wait(const api::WaitJobRequest& request, const Take<api::WaitJobReply>& take) {
  return take_parts(&Ask::mutable_wait_job, request, &Answer::has_wait_job, &Answer::mutable_wait_job, take);
}

Result<api::ActionReply> Client::complete_allocation(const api::CompleteAllocationRequest& request) {
  return ask(&Ask::mutable_complete_allocation, request, &Answer::has_action, &Answer::mutable_action);
}

Status Client::jobs(const api::QueryJobsRequest& request, const Take<api::JobsReply>& take) {
  return take_parts(&Ask::mutable_query_jobs, request, &Answer::has_jobs, &Answer::mutable_jobs, take);
}

Status Client::steps(const api::QueryStepsRequest& request, const Take<api::StepsReply>& take) {
  return take_parts(&Ask::mutable_query_steps, request, &Answer::has_steps, &Answer::mutable_steps, take);
}

Status Client::accounting(const api::QueryAccountingRequest& request,
                          const Take<api::AccountingReply>& take) {
  return take_parts(&Ask::mutable_query_accounting, request, &Answer::has_accounting,
                    &Answer::mutable_accounting, take);
}

Result<api::PrioritiesReply> Client::priorities(const api::QueryPrioritiesRequest& request) {
  return ask(&Ask::mutable_query_priorities, request, &Answer::has_priorities, &Answer::mutable_priorities);
}

Status Client::nodes(const Take<api::NodesReply>& take) {
  return take_parts(&Ask::mutable_query_nodes, api::QueryNodesRequest(), &Answer::has_nodes,
                    &Answer::mutable_nodes, take);
}

Status Client::partitions(const Take<api::PartitionsReply>& take) {
  return take_parts(&Ask::mutable_query_partitions, api::QueryPartitionsRequest(), &Answer::has_partitions,
                    &Answer::mutable_partitions, take);
}

Result<api::ReservationsReply> Client::reservations() {
  return ask(&Ask::mutable_query_reservations, api::QueryReservationsRequest(), &Answer::has_reservations,
             &Answer::mutable_reservations);
}

Result<api::LicensesReply> Client::licenses() {
  return ask(&Ask::mutable_query_licenses, api::QueryLicensesRequest(), &Answer::has_licenses,
             &Answer::mutable_licenses);
}

Result<api::ConfigReply> Client::configuration() {
  return ask(&Ask::mutable_query_config, api::QueryConfigRequest(), &Answer::has_config,
             &Answer::mutable_config);
}

Result<api::ActionReply> Client::signal(const api::SignalRequest& request) {
  return ask(&Ask::mutable_signal, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::hold(const api::HoldRequest& request) {
  return ask(&Ask::mutable_hold, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::requeue(const api::RequeueRequest& request) {
  return ask(&Ask::mutable_requeue, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::suspend(const api::SuspendRequest& request) {
  return ask(&Ask::mutable_suspend, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::top(const api::TopRequest& request) {
  return ask(&Ask::mutable_top, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::notify(const api::NotifyRequest& request) {
  return ask(&Ask::mutable_notify, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::update(const api::UpdateJobRequest& request) {
  return ask(&Ask::mutable_update_job, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::update(const api::UpdateNodeRequest& request) {
  return ask(&Ask::mutable_update_node, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::update(const api::UpdatePartitionRequest& request) {
  return ask(&Ask::mutable_update_partition, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::update(const api::UpdateReservationRequest& request) {
  return ask(&Ask::mutable_update_reservation, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::update(const api::UpdateRecordsRequest& request) {
  return ask(&Ask::mutable_update_records, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::AccountsReply> Client::accounts(const api::QueryAccountsRequest& request) {
  return ask(&Ask::mutable_query_accounts, request, &Answer::has_accounts, &Answer::mutable_accounts);
}

Result<api::ActionReply> Client::change_accounts(const api::UpdateAccountsRequest& request) {
  return ask(&Ask::mutable_update_accounts, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ExplainJobReply> Client::explain(const api::ExplainJobRequest& request) {
  return ask(&Ask::mutable_explain_job, request, &Answer::has_explanation, &Answer::mutable_explanation);
}

Result<api::MeasurementsReply> Client::measured(const api::QueryMeasurementsRequest& request) {
  return ask(&Ask::mutable_query_measurements, request, &Answer::has_measurements,
             &Answer::mutable_measurements);
}

Result<api::StepUsageReply> Client::step_usage(const api::QueryStepUsageRequest& request) {
  return ask(&Ask::mutable_query_step_usage, request, &Answer::has_step_usage, &Answer::mutable_step_usage);
}

Result<api::PidsReply> Client::pids(const api::QueryPidsRequest& request) {
  return ask(&Ask::mutable_query_pids, request, &Answer::has_pids, &Answer::mutable_pids);
}

Status Client::keep_metrics(const api::KeepMetricsRequest& request) {
  const auto kept = ask(&Ask::mutable_keep_metrics, request, &Answer::has_action, &Answer::mutable_action);
  if (!kept) return failure(kept.error());
  return {};
}

Result<api::TriggersReply> Client::all_triggers() {
  return ask(&Ask::mutable_query_triggers, api::QueryTriggersRequest(), &Answer::has_triggers,
             &Answer::mutable_triggers);
}

Result<api::ActionReply> Client::set_triggers(const api::SetTriggersRequest& request) {
  return ask(&Ask::mutable_set_triggers, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::clear_triggers(const api::ClearTriggersRequest& request) {
  return ask(&Ask::mutable_clear_triggers, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::CrontabReply> Client::crontab(const api::QueryCrontabRequest& request) {
  return ask(&Ask::mutable_query_crontab, request, &Answer::has_crontab, &Answer::mutable_crontab);
}

Result<api::ActionReply> Client::update_crontab(const api::UpdateCrontabRequest& request) {
  return ask(&Ask::mutable_update_crontab, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::remove_crontab(const api::RemoveCrontabRequest& request) {
  return ask(&Ask::mutable_remove_crontab, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::SoftwareReply> Client::requested_software() {
  return ask(&Ask::mutable_query_software, api::QuerySoftwareRequest(), &Answer::has_software,
             &Answer::mutable_software);
}

Result<api::ActionReply> Client::request_software(const api::RequestSoftwareRequest& request) {
  return ask(&Ask::mutable_request_software, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::answer_software(const api::AnswerSoftwareRequest& answer) {
  return ask(&Ask::mutable_answer_software, answer, &Answer::has_action, &Answer::mutable_action);
}

Result<api::HistoryReply> Client::history(const api::QueryHistoryRequest& request) {
  return ask(&Ask::mutable_query_history, request, &Answer::has_history, &Answer::mutable_history);
}

Result<api::StatusReply> Client::status() {
  return ask(&Ask::mutable_status, api::StatusRequest(), &Answer::has_status, &Answer::mutable_status);
}

Result<api::DiagnosticsReply> Client::diagnostics(const api::QueryDiagnosticsRequest& request) {
  return ask(&Ask::mutable_query_diagnostics, request, &Answer::has_diagnostics,
             &Answer::mutable_diagnostics);
}

Result<api::ActionReply> Client::reconfigure() {
  return ask(&Ask::mutable_reconfigure, api::ReconfigureRequest(), &Answer::has_action,
             &Answer::mutable_action);
}

Result<api::ActionReply> Client::shut_down(const api::ShutdownRequest& request) {
  return ask(&Ask::mutable_shutdown, request, &Answer::has_action, &Answer::mutable_action);
}

Result<api::ActionReply> Client::attach(const api::AttachStepRequest& request) {
  return ask(&Ask::mutable_attach_step, request, &Answer::has_action, &Answer::mutable_action);
}

}  // namespace minke::engine::embedded
