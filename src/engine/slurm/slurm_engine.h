// A real Slurm as an Engine, asked by its own commands with the rights of who runs them: an ordinary account
// is enough. What such a one may not see is absent from the answers.
//
// What slurmctld is asked for (the queue, nodes, partitions, reservations, licences, configuration) is kept
// for all commands of a user (shared_answers.h). What has been changed through here is asked for anew.
// slurmdbd is asked each time, with bounds on what it is asked for.
//
// What this engine cannot do yet says so (Engine::lacks): allocations, heterogeneous jobs and steps. Accounts
// it shows, and leaves their changes to sacctmgr.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/slurm/programs.h"
#include "engine/slurm/shared_answers.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::sched {
struct WorldRecords;
}  // namespace minke::sched

namespace minke::engine::slurm {

class SlurmEngine final : public Engine,
                          public ExplanationAbility,
                          public HistoryAbility,
                          public MeasurementAbility {
 public:
  // `period`: for how long an answer does while slurmctld is not busy.
  SlurmEngine(Place place, std::chrono::seconds period);
  // One that keeps its answers in this directory, for everybody: minke poll.
  SlurmEngine(Place place, std::chrono::seconds period, SharedAnswers answers);
  ~SlurmEngine() override;

  // What all users may see is asked for anew where it gets old, and kept; what not all may see is removed.
  // Returns what is shared, for people.
  std::vector<std::string> poll();
  // Whether somebody's minke poll asks for this user, too.
  bool is_polled() const { return answers_.is_polled("nodes") || answers_.is_polled("jobs"); }

  const Place& place() const { return programs_.place(); }
  const std::string& answers_directory() const { return answers_.directory(); }
  bool keeps_answers() const { return answers_.keeps(); }
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

  // For quota_holds.h: as root, holds jobs with words in their AdminComment, and takes both back. Jobs that
  // have begun meanwhile are left alone.
  Status hold_because(const std::set<uint32_t>& jobs, const std::string& why);
  Status release_again(const std::set<uint32_t>& jobs);

  Result<ExplanationAbility*> explanations() override { return this; }
  Result<HistoryAbility*> past() override { return this; }
  Result<MeasurementAbility*> measurements() override { return this; }
  Result<AdministrationAbility*> administration() override;

  Result<api::ExplainJobReply> explain(const api::ExplainJobRequest& request) override;

  Result<api::HistoryReply> history(const api::QueryHistoryRequest& request) override;

  Result<api::MeasurementsReply> measured(const api::QueryMeasurementsRequest& request) override;
  Result<api::StepUsageReply> step_usage(const api::QueryStepUsageRequest& request) override;
  Result<api::PidsReply> pids(const api::QueryPidsRequest& request) override;
  Status keep_metrics(const api::KeepMetricsRequest& request) override;

 private:
  Result<std::string> ask_script(uint32_t job_id) const;
  // accounts(): the lines of a sacctmgr or sshare with these columns.
  Result<std::vector<std::string>> told(std::vector<std::string> words, const char* columns) const;
  Status ask_accounts(const std::string& cluster, api::AccountsReply& reply) const;
  // accounting(): by time, and the newest first.
  Status recorded(const api::QueryAccountingRequest& request, const Take<api::AccountingReply>& take);
  Status newest(const api::QueryAccountingRequest& request, const Take<api::AccountingReply>& take);
  using Words = std::vector<std::string>;
  using TakeRecord = std::function<void(std::string_view line)>;

  // An answer that is one message.
  template <typename Reply>
  Result<Reply> kept(const std::string& kind, const std::function<Status(Reply& reply)>& ask);
  // One that comes in parts; `take` gets each with the time when the cluster was asked.
  template <typename Reply>
  Status kept_parts(const std::string& kind, const std::function<Status(const Take<Reply>&)>& ask,
                    const Take<Reply>& take);
  // How busy slurmctld is, as sdiag tells, and how many jobs wait or run; zeros where it does not.
  struct Load {
    uint64_t threads = 0, jobs = 0;
  };
  Load load();
  SharedAnswers::Milliseconds period();
  // The lines of an `scontrol -o show …`.
  Status show(const char* what, const TakeRecord& take) const;

  // The whole queue: from slurmrestd where there is one, from JSON or, of old releases and where it is long,
  // from text.
  Status ask_queue(const Take<api::JobsReply>& take);
  Status ask_queue_rest(const std::string& interface, const Take<api::JobsReply>& take);
  Status ask_queue_json(const Take<api::JobsReply>& take);
  Status ask_queue_text(const Take<api::JobsReply>& take);
  // This user's running jobs, and what their steps use.
  Status ask_usage(bool with_series, const Take<api::MeasurementsReply>& take);
  // Of these jobs, those on whose nodes agents answer are measured by them. Returns their ids; what is not
  // measured becomes a note.
  std::set<uint32_t> ask_nodes(bool with_series, api::MeasurementsReply& reply);
  // What agents have measured of a job that has ended, one measurement for each of its nodes.
  Result<api::MeasurementsReply> measured_before(const model::JobRecord& job);
  Status add_ended(const model::JobRecord& job, bool with_series, api::MeasurementsReply& reply);
  // All partitions, those that are hidden and those of groups, too.
  Status every_partition(const Take<api::PartitionsReply>& take);
  // What a forecast is made of. What may not be seen, and what does not answer, becomes a note where it can
  // go on without it.
  Result<sched::WorldRecords> world_records(int64_t& now, std::vector<std::string>& notes);
  void add_history(sched::WorldRecords& records, std::vector<std::string>& notes);
  // This user's jobs that have ended lately, with what run times are learned from.
  Status history(const Take<api::AccountingReply>& take);
  // Of the configuration: "26.05.5".
  Result<std::string> version();

  // One attempt of a submission; and its jobs, asked anew (engine/slurm/marked_jobs.h).
  Result<api::SubmitReply> submit_once(const api::SubmitRequest& request, const std::string& mark);
  Result<std::set<uint32_t>> find_new(const std::string& mark, int64_t from);
  void keep_first(const std::string& mark, int64_t from, api::SubmitReply& reply);
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
