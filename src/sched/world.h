// World: a cluster as its records show it at one moment: the machine, the queue, what runs, and how long jobs
// are believed to run. Whoever has the records that commands list can say when jobs will start and why they
// wait, whichever cluster they are of; nothing is asked of it.
//
// What records do not tell is told by notes(), and is not guessed: who may not start now is not in the queue,
// and obstacle() says why; what jobs nobody shows hold is taken until nobody knows when; limits of accounts
// are not foreseen, and whom they hold up waits outside of the queue. A World does not change. Pure; any
// thread.
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

struct LicenseRecord {
  std::string name;
  std::uint32_t total = 0;
  std::uint32_t used = 0;  // by whomever
};

// As a cluster shows them. Nodes have their active features, what they offer and what of it is allocated;
// a job that waits or runs has its spec, with what has become of its dependencies, and one that holds nodes
// its allocation, or their names and what it holds in all. Jobs that ended teach how long jobs run.
struct WorldRecords {
  std::vector<model::NodeRecord> nodes;
  std::vector<model::PartitionRecord> partitions;
  std::vector<LicenseRecord> licenses;
  std::vector<model::ReservationRecord> reservations;
  std::vector<model::JobRecord> jobs;
};

class World {
 public:
  // `now`: s since the epoch, when the records were taken. An error (no code) where the nodes or partitions
  // cannot be those of a cluster: none at all, one of them twice, more devices than a node can have.
  static Result<World> build(WorldRecords records, std::int64_t now);

  std::int64_t now() const { return now_; }
  const Machine& machine() const { return machine_; }
  const PendingQueue& queue() const { return queue_; }
  const RunningSet& running() const { return running_; }
  const Beliefs& beliefs() const { return beliefs_; }
  // What is not known, a sentence each without a full stop.
  const std::vector<std::string>& notes() const { return notes_; }

  // A job that waits or holds nodes; null: there is none of that id. An array's tasks that wait are one.
  const model::JobRecord* find(std::uint32_t job_id) const;
  // The record that has the task, waiting or not; null: none has.
  const model::JobRecord* find_task(std::uint32_t array_job_id, std::uint32_t index) const;

  // What keeps a job that waits out of the queue, by itself or as its record says; null: nothing does.
  // `detail`: what exactly it asks for that there is not; empty: nothing more is known.
  struct Obstacle {
    model::StateReason reason{};
    std::string detail;
  };
  const Obstacle* obstacle(std::uint32_t job_id) const;
  // Why it waits, as the scheduler's own code has it; None where it does not wait. `reasons`: of
  // wait_reasons(), which costs O(classes of jobs).
  model::StateReason reason_of(const WaitReasons& reasons, std::uint32_t job_id) const;
  WaitReasons wait_reasons() const { return {machine_, queue_, now_}; }
  // Its first entry; nothing where it is not in the queue. A heterogeneous job has its first component's.
  std::optional<EntryId> entry(std::uint32_t job_id) const;

  // What forecasts trust: earlier jobs as far as they tell, or the time limits alone.
  enum class Trust : std::uint8_t { kBeliefs, kLimits };
  // Valid while the World stays where it is.
  ForecastOptions options(Trust trust = Trust::kBeliefs) const;

  // Of the first ones of the queue, in the order of their starts. Bounded as ForecastOptions says.
  std::vector<ExpectedStart> forecast(Trust trust = Trust::kBeliefs) const;
  // Of one job, also of one that waits for a time, its array's throttle, or jobs whose ends can be foreseen.
  // Nothing where nobody can say, and where it does not wait.
  std::optional<ExpectedStart> start_of(std::uint32_t job_id, Trust trust = Trust::kBeliefs) const;
  // Of a job that is submitted now by `uid`, in whichever of its partitions starts it first. Without a
  // `priority` it is behind all of its partition's tier. Its dependencies are not looked at. Errors: as
  // make_request(), where no partition of it could ever run it.
  Result<std::optional<ExpectedStart>> start_of(const model::JobSpec& spec, std::uint32_t uid,
                                                std::optional<std::uint32_t> priority = std::nullopt,
                                                Trust trust = Trust::kBeliefs) const;
  // Of a job in the queue, if it asked for `spec` instead. Errors: as above, and where it is not in the
  // queue.
  Result<std::optional<ExpectedStart>> start_if(std::uint32_t job_id, const model::JobSpec& spec,
                                                Trust trust = Trust::kBeliefs) const;

  // The jobs that outrank it in its partition and wait for their turn as it does, the first `most` of them.
  std::vector<std::uint32_t> jobs_before(std::uint32_t job_id, std::size_t most = 10000) const;

  // When a job that holds nodes ends; s since the epoch.
  struct End {
    std::uint32_t job_id = 0;
    std::int64_t expected = 0;  // 0: nobody knows
    std::int64_t limit = 0;     // by its time limit; 0: it has none
  };
  std::optional<End> end_of(std::uint32_t job_id) const;
  // Of all that hold nodes, those that nobody knows last. `nodes`, sorted: of those that hold any of these;
  // empty: of all.
  std::vector<End> ends(const std::vector<std::string>& nodes = {}) const;

 private:
  friend class WorldBuilder;
  friend class WorldJobs;

  static constexpr RunKey kHidden = RunKey{1} << 32;  // and above: of no job that is shown

  explicit World(Machine machine) : machine_(std::move(machine)) {}

  struct Job {
    model::JobRecord record;
    std::vector<std::string> partitions;  // of one that waits: at least one
    std::size_t choices = 0;              // at most so many entries
    bool queued = false;
    std::optional<Obstacle> obstacle;
  };
  const Job* job(std::uint32_t id) const;
  const Job& leader_of(const Job& job) const;
  const model::PartitionRecord* partition(const std::string& name) const;
  std::vector<std::string> partitions_of(const std::string& list) const;  // empty: the default one
  std::uint32_t user_of(std::uint32_t uid) const;
  // Of the record's spec, with what holds for it in this partition.
  Result<Request> request(const model::JobRecord& record, const std::string& partition) const;
  Result<Request> request(const model::JobSpec& spec, const std::string& partition, std::uint32_t uid,
                          std::uint32_t time_limit_minutes) const;
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
  std::map<std::uint32_t, std::vector<std::uint32_t>> arrays_;  // ids of their records, ascending
  std::vector<std::string> notes_;
};

}  // namespace minke::sched
