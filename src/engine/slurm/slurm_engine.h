// A real Slurm as an Engine, asked by its own commands with the rights of who runs them: an ordinary account
// is enough. What such a one may not see is absent from the answers.
//
// What slurmctld is asked for (the queue, nodes, partitions, reservations, licences, configuration) is kept
// for all commands of a user (shared_answers.h). What has been changed through here is asked for anew.
// slurmdbd is asked each time, with bounds on what it is asked for.
//
// What this engine cannot do yet says so (Engine::lacks): allocations, heterogeneous jobs and steps.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/slurm/programs.h"
#include "engine/slurm/shared_answers.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine::slurm {

class SlurmEngine final : public Engine, public ExplanationAbility, public MeasurementAbility {
 public:
  // `period`: for how long an answer does while slurmctld is not busy.
  SlurmEngine(Place place, std::chrono::seconds period);
  ~SlurmEngine() override;

  const Place& place() const { return programs_.place(); }
  const std::string& answers_directory() const { return answers_.directory(); }
  // What to say of a version that this program does not know; empty: it knows it.
  std::string note_of_version();
  // Whether slurmctld, slurmdbd, and slurmrestd where there is one, answer now.
  Status ping_controller();
  Status ping_rest();
  Status ping_accounting();

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
  Result<AdministrationAbility*> administration() override;

  Result<api::ExplainJobReply> explain(const api::ExplainJobRequest& request) override;

  Result<api::MeasurementsReply> measured(const api::QueryMeasurementsRequest& request) override;
  Result<api::StepUsageReply> step_usage(const api::QueryStepUsageRequest& request) override;
  Result<api::PidsReply> pids(const api::QueryPidsRequest& request) override;
  Status keep_metrics(const api::KeepMetricsRequest& request) override;

 private:
  using Words = std::vector<std::string>;
  using TakeRecord = std::function<void(std::string_view line)>;

  // An answer that is one message.
  template <typename Reply>
  Result<Reply> kept(const std::string& kind, const std::function<Status(Reply& reply)>& ask);
  // One that comes in parts; `take` gets each with the time when the cluster was asked.
  template <typename Reply>
  Status kept_parts(const std::string& kind, const std::function<Status(const Take<Reply>&)>& ask,
                    const Take<Reply>& take);
  SharedAnswers::Milliseconds period();
  // The lines of an `scontrol -o show …`.
  Status show(const char* what, const TakeRecord& take) const;

  // The whole queue: from slurmrestd where there is one, from JSON or, of old releases, from text.
  Status ask_queue(const Take<api::JobsReply>& take);
  Status ask_queue_rest(const std::string& interface, const Take<api::JobsReply>& take);
  Status ask_queue_json(const Take<api::JobsReply>& take);
  Status ask_queue_text(const Take<api::JobsReply>& take);
  // This user's running jobs, and what their steps use.
  Status ask_usage(const Take<api::MeasurementsReply>& take);
  // This user's jobs that have ended lately, with what run times are learned from.
  Status history(const Take<api::AccountingReply>& take);
  // Of the configuration: "26.05.5".
  Result<std::string> version();

  // One attempt of a submission. A job of this mark, among those that slurmctld knows now and slurmdbd knew
  // since `from`; 0: there is none.
  Result<api::SubmitReply> submit_once(const api::SubmitRequest& request, const std::string& mark);
  Result<uint32_t> find_marked(const std::string& mark, int64_t from);
  // A job as the queue has it, else as the accounting record has it; of an array the task that has not ended,
  // or has ended worst.
  Result<model::JobRecord> as_it_is(uint32_t job_id);
  Result<model::JobRecord> as_it_was(uint32_t job_id);  // not before the period of what is kept is over

  // Starts a command that changes jobs; what the queue was is forgotten then.
  Result<api::ActionReply> act(Words words, uint32_t changed);

  Programs programs_;
  SharedAnswers answers_;
  std::chrono::seconds period_;
  std::unique_ptr<api::ConfigReply> configuration_;
};

}  // namespace minke::engine::slurm
