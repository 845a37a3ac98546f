// Engine: a cluster as its clients see it: Minke's own daemon on one machine, or another
// scheduler. Commands and all other front ends use a cluster only through this interface.
// engine/open.h finds the cluster to use.
//
// Functions of Engine are what every cluster can do. An ability is a separate interface for what only
// some clusters can do; a caller asks for it: `engine.explanations()`. If the cluster lacks it, the error
// says so and names the cluster.
//
// Rules for implementations and callers:
//  - All functions block. An engine belongs to one thread at a time; two engines of one cluster may be used
//    at once.
//  - Requests come from the user of this process. An engine finds that out itself and never trusts a request.
//  - A lost connection is made again and the request repeated, unless part of the answer has been taken.
//    Requests that change something can be repeated: a submission is recognised by its key, and the others
//    state the wanted result.
//  - An answer in parts is passed to `take`, part by part, in order. `take` may move from its argument. An
//    error of `take` ends the answer and is returned.
//  - The code of an error is Slurm's number if the cluster refused (model/error.h), else an errno;
//    ECONNREFUSED means that nobody answers. A command prints the message after "error: ".
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace minke::api {
class AccountingReply;
class AccountsReply;
class ActionReply;
class AnswerSoftwareRequest;
class ClearTriggersRequest;
class CompleteAllocationRequest;
class ConfigReply;
class CrontabReply;
class DiagnosticsReply;
class ExplainJobReply;
class ExplainJobRequest;
class HistoryReply;
class HoldRequest;
class JobsReply;
class KeepMetricsRequest;
class LicensesReply;
class MeasurementsReply;
class NodesReply;
class NotifyRequest;
class PartitionsReply;
class PidsReply;
class PrioritiesReply;
class QueryAccountingRequest;
class QueryAccountsRequest;
class QueryCrontabRequest;
class QueryDiagnosticsRequest;
class QueryHistoryRequest;
class QueryJobsRequest;
class QueryMeasurementsRequest;
class QueryPidsRequest;
class QueryPrioritiesRequest;
class QueryStepUsageRequest;
class QueryStepsRequest;
class RemoveCrontabRequest;
class RequestSoftwareRequest;
class RequeueRequest;
class ReservationsReply;
class SetTriggersRequest;
class ShutdownRequest;
class SignalRequest;
class SoftwareReply;
class StatusReply;
class StepUsageReply;
class StepsReply;
class SubmitReply;
class SubmitRequest;
class SuspendRequest;
class TopRequest;
class TriggersReply;
class UpdateAccountsRequest;
class UpdateCrontabRequest;
class UpdateJobRequest;
class UpdateNodeRequest;
class UpdatePartitionRequest;
class UpdateRecordsRequest;
class UpdateReservationRequest;
class WaitJobReply;
class WaitJobRequest;
}  // namespace minke::api

namespace minke::engine {

namespace embedded {
class Client;
}

template <typename Part>
using Take = std::function<Status(Part& part)>;

struct Identity {
  std::string cluster;  // its name
  std::string product;  // "Minke", "Slurm"
  std::string version;
  uint32_t least_poll_seconds = 0;  // minimum pause of callers that poll
};

// Why a job waits and when it is expected to start.
class ExplanationAbility {
 public:
  virtual ~ExplanationAbility() = default;
  virtual Result<api::ExplainJobReply> explain(const api::ExplainJobRequest& request) = 0;
};

// What jobs and the machine use now and used before, and the metrics that jobs have written.
class MeasurementAbility {
 public:
  virtual ~MeasurementAbility() = default;
  virtual Result<api::MeasurementsReply> measured(const api::QueryMeasurementsRequest& request) = 0;
  virtual Result<api::StepUsageReply> step_usage(const api::QueryStepUsageRequest& request) = 0;
  virtual Result<api::PidsReply> pids(const api::QueryPidsRequest& request) = 0;
  virtual Status keep_metrics(const api::KeepMetricsRequest& request) = 0;
};

class TriggerAbility {
 public:
  virtual ~TriggerAbility() = default;
  virtual Result<api::TriggersReply> all_triggers() = 0;
  virtual Result<api::ActionReply> set_triggers(const api::SetTriggersRequest& request) = 0;
  virtual Result<api::ActionReply> clear_triggers(const api::ClearTriggersRequest& request) = 0;
};

// Packages that users ask the administrators for.
class SoftwareAbility {
 public:
  virtual ~SoftwareAbility() = default;
  virtual Result<api::SoftwareReply> requested_software() = 0;
  virtual Result<api::ActionReply> request_software(const api::RequestSoftwareRequest& request) = 0;
  virtual Result<api::ActionReply> answer_software(const api::AnswerSoftwareRequest& answer) = 0;
};

// Users' crontabs, whose entries are jobs that recur.
class CrontabAbility {
 public:
  virtual ~CrontabAbility() = default;
  virtual Result<api::CrontabReply> crontab(const api::QueryCrontabRequest& request) = 0;
  virtual Result<api::ActionReply> update_crontab(const api::UpdateCrontabRequest& request) = 0;
  virtual Result<api::ActionReply> remove_crontab(const api::RemoveCrontabRequest& request) = 0;
};

// What happened to the cluster: times in which nodes were out of use, and changes of its accounts.
class HistoryAbility {
 public:
  virtual ~HistoryAbility() = default;
  virtual Result<api::HistoryReply> history(const api::QueryHistoryRequest& request) = 0;
};

// The daemon of a cluster on this machine: its status and statistics, and requests to stop it or to make
// it read its configuration again.
class AdministrationAbility {
 public:
  virtual ~AdministrationAbility() = default;
  virtual Result<api::StatusReply> status() = 0;
  virtual Result<api::DiagnosticsReply> diagnostics(const api::QueryDiagnosticsRequest& request) = 0;
  virtual Result<api::ActionReply> reconfigure() = 0;
  virtual Result<api::ActionReply> shut_down(const api::ShutdownRequest& request) = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual Result<Identity> identity() = 0;

  // Jobs.
  virtual Result<api::SubmitReply> submit(api::SubmitRequest request) = 0;
  virtual Status wait(const api::WaitJobRequest& request, const Take<api::WaitJobReply>& take) = 0;
  virtual Result<std::string> script(uint32_t job_id) = 0;
  virtual Result<api::ActionReply> complete_allocation(const api::CompleteAllocationRequest& request) = 0;

  // Records.
  virtual Status jobs(const api::QueryJobsRequest& request, const Take<api::JobsReply>& take) = 0;
  virtual Status steps(const api::QueryStepsRequest& request, const Take<api::StepsReply>& take) = 0;
  virtual Status accounting(const api::QueryAccountingRequest& request,
                            const Take<api::AccountingReply>& take) = 0;
  virtual Result<api::PrioritiesReply> priorities(const api::QueryPrioritiesRequest& request) = 0;

  // The machine.
  virtual Status nodes(const Take<api::NodesReply>& take) = 0;
  virtual Status partitions(const Take<api::PartitionsReply>& take) = 0;
  virtual Result<api::ReservationsReply> reservations() = 0;
  virtual Result<api::LicensesReply> licenses() = 0;
  virtual Result<api::ConfigReply> configuration() = 0;

  // Actions on jobs and changes of the machine.
  virtual Result<api::ActionReply> signal(const api::SignalRequest& request) = 0;
  virtual Result<api::ActionReply> hold(const api::HoldRequest& request) = 0;
  virtual Result<api::ActionReply> requeue(const api::RequeueRequest& request) = 0;
  virtual Result<api::ActionReply> suspend(const api::SuspendRequest& request) = 0;
  virtual Result<api::ActionReply> top(const api::TopRequest& request) = 0;
  virtual Result<api::ActionReply> notify(const api::NotifyRequest& request) = 0;
  virtual Result<api::ActionReply> update(const api::UpdateJobRequest& request) = 0;
  virtual Result<api::ActionReply> update(const api::UpdateNodeRequest& request) = 0;
  virtual Result<api::ActionReply> update(const api::UpdatePartitionRequest& request) = 0;
  virtual Result<api::ActionReply> update(const api::UpdateReservationRequest& request) = 0;
  virtual Result<api::ActionReply> update(const api::UpdateRecordsRequest& request) = 0;

  // Accounts.
  virtual Result<api::AccountsReply> accounts(const api::QueryAccountsRequest& request) = 0;
  virtual Result<api::ActionReply> change_accounts(const api::UpdateAccountsRequest& request) = 0;

  // Abilities. Error: this cluster lacks it.
  virtual Result<ExplanationAbility*> explanations() { return lacks("explain when a job will start"); }
  virtual Result<MeasurementAbility*> measurements() { return lacks("measure jobs"); }
  virtual Result<TriggerAbility*> triggers() { return lacks("run triggers"); }
  virtual Result<SoftwareAbility*> software_requests() { return lacks("be asked for software from here"); }
  virtual Result<CrontabAbility*> crontabs() { return lacks("keep crontabs"); }
  virtual Result<HistoryAbility*> past() { return lacks("tell what happened to it"); }
  virtual Result<AdministrationAbility*> administration() {
    return lacks("be started, stopped or diagnosed from here");
  }
  // Steps whose streams are descriptors of this process. Only the embedded daemon supports them.
  virtual Result<embedded::Client*> steps_with_descriptors() { return lacks("take descriptors of an srun"); }

 protected:
  tl::unexpected<Error> lacks(const std::string& what);
};

}  // namespace minke::engine
