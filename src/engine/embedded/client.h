// Client: a process's connection to the daemon of a home. It finds the daemon, starts it if none runs, sends
// requests, and repeats them if the daemon was restarted meanwhile. One thread; blocking.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "rpc/channel.h"

namespace minke::api {
class AttachStepRequest;
}  // namespace minke::api

namespace minke::rpc {
class ClientMessage;
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine::embedded {

class Client final : public Engine,
                     public ExplanationAbility,
                     public MeasurementAbility,
                     public TriggerAbility,
                     public SoftwareAbility,
                     public HistoryAbility,
                     public CrontabAbility,
                     public AdministrationAbility {
 public:
  // Connects to the daemon of this process's home (os/minke_home.h). If none runs, starts one, or returns
  // ECONNREFUSED if `start` is false. Error messages say what to do.
  static Result<std::unique_ptr<Client>> connect(bool start = true);
  ~Client() override;

  Result<Identity> identity() override;

  Result<api::SubmitReply> submit(api::SubmitRequest request) override;
  Status wait(const api::WaitJobRequest& request, const Take<api::WaitJobReply>& take) override;
  Result<std::string> script(uint32_t job_id) override;
  Result<api::ActionReply> complete_allocation(const api::CompleteAllocationRequest& request) override;

  Status jobs(const api::QueryJobsRequest& request, const Take<api::JobsReply>& take) override;
  Status steps(const api::QueryStepsRequest& request, const Take<api::StepsReply>& take) override;
  Status accounting(const api::QueryAccountingRequest& request,
                    const Take<api::AccountingReply>& take) override;
  Result<api::PrioritiesReply> priorities(const api::QueryPrioritiesRequest& request) override;

  Status nodes(const Take<api::NodesReply>& take) override;
  Status partitions(const Take<api::PartitionsReply>& take) override;
  Result<api::ReservationsReply> reservations() override;
  Result<api::LicensesReply> licenses() override;
  Result<api::ConfigReply> configuration() override;

  Result<api::ActionReply> signal(const api::SignalRequest& request) override;
  Result<api::ActionReply> hold(const api::HoldRequest& request) override;
  Result<api::ActionReply> requeue(const api::RequeueRequest& request) override;
  Result<api::ActionReply> suspend(const api::SuspendRequest& request) override;
  Result<api::ActionReply> top(const api::TopRequest& request) override;
  Result<api::ActionReply> notify(const api::NotifyRequest& request) override;
  Result<api::ActionReply> update(const api::UpdateJobRequest& request) override;
  Result<api::ActionReply> update(const api::UpdateNodeRequest& request) override;
  Result<api::ActionReply> update(const api::UpdatePartitionRequest& request) override;
  Result<api::ActionReply> update(const api::UpdateReservationRequest& request) override;
  Result<api::ActionReply> update(const api::UpdateRecordsRequest& request) override;

  Result<api::AccountsReply> accounts(const api::QueryAccountsRequest& request) override;
  Result<api::ActionReply> change_accounts(const api::UpdateAccountsRequest& request) override;

  Result<ExplanationAbility*> explanations() override { return this; }
  Result<MeasurementAbility*> measurements() override { return this; }
  Result<TriggerAbility*> triggers() override { return this; }
  Result<SoftwareAbility*> software_requests() override { return this; }
  Result<HistoryAbility*> past() override { return this; }
  Result<CrontabAbility*> crontabs() override { return this; }
  Result<AdministrationAbility*> administration() override { return this; }
  Result<Client*> steps_with_descriptors() override { return this; }

  Result<api::ExplainJobReply> explain(const api::ExplainJobRequest& request) override;
  Result<api::MeasurementsReply> measured(const api::QueryMeasurementsRequest& request) override;
  Result<api::StepUsageReply> step_usage(const api::QueryStepUsageRequest& request) override;
  Result<api::PidsReply> pids(const api::QueryPidsRequest& request) override;
  Status keep_metrics(const api::KeepMetricsRequest& request) override;
  Result<api::TriggersReply> all_triggers() override;
  Result<api::ActionReply> set_triggers(const api::SetTriggersRequest& request) override;
  Result<api::ActionReply> clear_triggers(const api::ClearTriggersRequest& request) override;
  Result<api::HistoryReply> history(const api::QueryHistoryRequest& request) override;
  Result<api::SoftwareReply> requested_software() override;
  Result<api::ActionReply> request_software(const api::RequestSoftwareRequest& request) override;
  Result<api::ActionReply> answer_software(const api::AnswerSoftwareRequest& answer) override;
  Result<api::CrontabReply> crontab(const api::QueryCrontabRequest& request) override;
  Result<api::ActionReply> update_crontab(const api::UpdateCrontabRequest& request) override;
  Result<api::ActionReply> remove_crontab(const api::RemoveCrontabRequest& request) override;
  Result<api::StatusReply> status() override;
  Result<api::DiagnosticsReply> diagnostics(const api::QueryDiagnosticsRequest& request) override;
  Result<api::ActionReply> reconfigure() override;
  Result<api::ActionReply> shut_down(const api::ShutdownRequest& request) override;

  // sattach: tells the step's srun where to send its output.
  Result<api::ActionReply> attach(const api::AttachStepRequest& request);

  // For callers that exchange messages themselves: srun, salloc, the metrics server.
  rpc::Channel& channel() { return *channel_; }
  // Call it after a lost connection. Starts a daemon if none runs.
  Status reconnect();
  const std::string& home() const { return home_; }

 private:
  Client() = default;
  // Sends one request and returns one answer, in which the parts of a list are merged.
  Result<rpc::ServerMessage> call(rpc::ClientMessage request);
  // Passes all messages of an answer to `on_message`, until the last. An error that it returns ends the call.
  Status stream(rpc::ClientMessage request, const std::function<Status(rpc::ServerMessage&)>& on_message);
  template <typename Reply, typename Request>
  Result<Reply> ask(Request* (rpc::ClientMessage::*body)(), Request request,
                    bool (rpc::ServerMessage::*has)() const, Reply* (rpc::ServerMessage::*reply)());
  template <typename Reply, typename Request>
  Status take_parts(Request* (rpc::ClientMessage::*body)(), Request request,
                    bool (rpc::ServerMessage::*has)() const, Reply* (rpc::ServerMessage::*reply)(),
                    const Take<Reply>& take);

  std::string home_;
  void take(rpc::Channel channel);
  std::unique_ptr<rpc::Channel> channel_;
  bool told_of_silence_ = false;
  uint32_t next_request_id_ = 1;
};

// Starts the daemon of this home and waits until it answers. The error says why it cannot start.
Status start_daemon(const std::string& home);

}  // namespace minke::engine::embedded
