// World: a snapshot of a cluster, built from its records: the machine, the queue, the running jobs, and how
// long jobs are expected to run. Anybody who has the records that commands list can compute when jobs will
// start and why they wait, for any cluster, without asking the cluster.
//
// Gaps in the records are reported by notes() and not guessed. A job that may not start now is not in the
// queue; obstacle() says why. Resources held by jobs that the records do not show are taken for an unknown
// time. Limits of accounts are not foreseen: jobs that wait for them are outside of the queue. A World
// does not change. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "sched/beliefs.h"
#include "sched/entries.h"
#include "sched/forecast.h"
#include "sched/machine.h"
#include "sched/outlook.h"
#include "sched/pending_queue.h"
#include "sched/running_set.h"
#include "sched/wait_reason.h"

namespace minke::model {
class JobSpec;
enum StateReason : int;
}  // namespace minke::model

namespace minke::sched {

class PossibleRequests;

struct LicenseRecord {
  std::string name;
  std::uint32_t total = 0;
  std::uint32_t used = 0;  // by all users
};

// The records as a cluster shows them. A node has its active features, its resources and the allocated part
// of them. A pending or running job has its spec with the state of its dependencies. A job that holds nodes
// has its allocation, or node names and totals. Ended jobs teach how long jobs run.
struct WorldRecords {
  std::vector<model::NodeRecord> nodes;
  std::vector<model::PartitionRecord> partitions;
  std::vector<LicenseRecord> licenses;
  std::vector<model::ReservationRecord> reservations;
  std::vector<model::JobRecord> jobs;
};

class World {
 public:
  // `now`: s since the epoch, when the records were taken. Returns an error (without code) if nodes or
  // partitions are inconsistent: none at all, a duplicate, or more devices than a node can have.
  static Result<World> build(WorldRecords records, std::int64_t now);

  std::int64_t now() const { return now_; }
  const Machine& machine() const { return machine_; }
  const PendingQueue& queue() const { return queue_; }
  const RunningSet& running() const { return running_; }
  const Beliefs& beliefs() const { return beliefs_; }
  // What is not known: one sentence each, without a full stop.
  const std::vector<std::string>& notes() const { return notes_; }

  // Finds a job that waits or holds nodes; null: there is none. The waiting tasks of an array are one job.
  const model::JobRecord* find(std::uint32_t job_id) const;
  // Finds the record with this array task, waiting or not; null: there is none.
  const model::JobRecord* find_task(std::uint32_t array_job_id, std::uint32_t index) const;

  // What keeps a waiting job out of the queue, found here or stated in its record; null: nothing does.
  // `detail`: exactly which request cannot be met; empty: unknown.
  struct Obstacle {
    model::StateReason reason{};
    std::string detail;
  };
  const Obstacle* obstacle(std::uint32_t job_id) const;
  // Why the job waits, by the same code as in the scheduler; None if it does not wait. `reasons` comes from
  // wait_reasons(), which costs O(classes of jobs).
  model::StateReason reason_of(const WaitReasons& reasons, std::uint32_t job_id) const;
  WaitReasons wait_reasons() const { return {machine_, queue_, now_}; }
  // The job's first entry; nothing if it is not in the queue. A heterogeneous job has that of component 0.
  std::optional<EntryId> entry(std::uint32_t job_id) const;

  // What forecasts use: estimates from earlier jobs where known, or the time limits alone.
  enum class Trust : std::uint8_t { kBeliefs, kLimits };
  // Valid until the World is moved or destroyed.
  ForecastOptions options(Trust trust = Trust::kBeliefs) const;

  // Forecasts the first entries of the queue, in the order of their starts. ForecastOptions bounds the work.
  std::vector<ExpectedStart> forecast(Trust trust = Trust::kBeliefs) const;
  // Forecasts one job, also if it waits for a time, its array's throttle, or jobs with foreseeable ends.
  // Nothing if unknown, and if the job does not wait.
  std::optional<ExpectedStart> start_of(std::uint32_t job_id, Trust trust = Trust::kBeliefs) const;
  // Forecasts a job that `uid` submits now, in the partition of its list that starts it first. Without a
  // `priority` it comes last in the partition's tier. Ignores its dependencies. Errors: those of
  // make_request(), if none of its partitions could ever run it.
  Result<std::optional<ExpectedStart>> start_of(const model::JobSpec& spec, std::uint32_t uid,
                                                std::optional<std::uint32_t> priority = std::nullopt,
                                                Trust trust = Trust::kBeliefs) const;
  // Forecasts a queued job as if it asked for `spec` instead. Errors: as above, and
  // if the job is not in the queue.
  Result<std::optional<ExpectedStart>> start_if(std::uint32_t job_id, const model::JobSpec& spec,
                                                Trust trust = Trust::kBeliefs) const;

  // The first `most` jobs that outrank it in its partition and wait for their turn like it.
  std::vector<std::uint32_t> jobs_before(std::uint32_t job_id, std::size_t most = 10000) const;

  // When a job that holds nodes ends; s since the epoch.
  struct End {
    std::uint32_t job_id = 0;
    std::int64_t expected = 0;  // 0: unknown
    std::int64_t limit = 0;     // by its time limit; 0: it has none
  };
  std::optional<End> end_of(std::uint32_t job_id) const;
  // The ends of all jobs that hold nodes; unknown ends come last. `nodes` (sorted) selects the jobs that
  // hold any of them; empty: all jobs.
  std::vector<End> ends(const std::vector<std::string>& nodes = {}) const;

 private:
  friend class WorldBuilder;
  friend class WorldJobs;

  static constexpr RunKey kHidden = RunKey{1} << 32;  // these keys and above belong to no visible job

  explicit World(Machine machine) : machine_(std::move(machine)) {}

  struct Job {
    model::JobRecord record;
    std::vector<std::string> partitions;  // of a waiting job: at least one
    std::size_t choices = 0;              // the most entries that it may have
    bool queued = false;
    std::optional<Obstacle> obstacle;
  };
  const Job* job(std::uint32_t id) const;
  const Job& leader_of(const Job& job) const;
  const model::PartitionRecord* partition(const std::string& name) const;
  std::vector<std::string> partitions_of(const std::string& list) const;  // empty: the default one
  std::uint32_t user_of(std::uint32_t uid) const;
  // Makes the Request of the record's spec under the rules of this partition.
  Result<Request> request(const model::JobRecord& record, const std::string& partition,
                          PossibleRequests* possible = nullptr) const;
  Result<Request> request(const model::JobSpec& spec, const std::string& partition, std::uint32_t uid,
                          std::uint32_t time_limit_minutes, PossibleRequests* possible = nullptr) const;
  std::vector<HoldId> reservations_of(const model::JobSpec& spec) const;
  PendingEntry pending_entry(const Job& job, std::size_t choice, const Request& request) const;
  std::optional<ExpectedStart> forecast_later(const Job& job, std::int64_t from,
                                              const ForecastOptions& options) const;
  std::int64_t expected_seconds(const Job& job) const;
  OutlookJob outlook_job(const Job& job) const;
  static Run run_of(const model::JobRecord& record);
  static bool holds_nodes(const model::JobRecord& record);

  std::int64_t now_ = 0;
  Machine machine_;
  PendingQueue queue_;
  RunningSet running_;  // by job id, or by kHidden | node
  Beliefs beliefs_;
  std::vector<model::PartitionRecord> partitions_;
  std::unordered_map<std::string, HoldId> reservations_;  // by name; looked up only
  std::map<std::uint32_t, Job> jobs_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> arrays_;  // the ids of an array's records, ascending
  std::vector<std::string> notes_;
};

}  // namespace minke::sched
