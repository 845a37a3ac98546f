// World: what the scheduler knows of the cluster: the machine and its free resources, the queue of jobs that
// may start, and the running jobs with their expected ends.
//
// Data and lookups only, which every part may read. Only `Scheduling` changes them; its header says
// what is in the queue. An entry of the queue is one choice of a job: one of its partitions in one of
// its reservations. State's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/embedded/state/job.h"
#include "model/cluster.pb.h"
#include "sched/entries.h"
#include "sched/forecast.h"
#include "sched/machine.h"
#include "sched/pending_queue.h"
#include "sched/running_set.h"

namespace minke::engine {

class World {
 public:
  explicit World(sched::Machine machine) : machine_(std::move(machine)) {}

  const sched::Machine& machine() const { return machine_; }
  const sched::PendingQueue& queue() const { return queue_; }
  const sched::RunningSet& running() const { return running_; }

  // The first entry of a job in the queue, and its request there; nothing if it is not queued.
  std::optional<sched::EntryId> entry_of(const Job& job) const;
  const sched::Request* request_of(const Job& job) const;
  // When a queued job will start, in whichever of its partitions; nothing if it is not queued. `now`: s since
  // the epoch.
  std::optional<sched::ForecastInPieces> forecast(const Job& job, int64_t now,
                                                  const sched::ForecastOptions& options) const;

  // Entries are numbered as in sched/entries.h.
  static uint32_t job_of_entry(sched::EntryId entry) { return sched::job_of_entry(entry); }
  static sched::EntryId entry_of(uint32_t job_id, size_t choice) { return sched::entry_of(job_id, choice); }
  static const std::string& partition_of(const Job& job, size_t choice) {
    return job.submission->partitions[choice % job.submission->partitions.size()];
  }

 private:
  friend class Scheduling;

  sched::Machine machine_;
  sched::PendingQueue queue_;
  sched::RunningSet running_;
};

// Builds a cluster without any jobs. Nodes and partitions must have been checked.
sched::Machine build_machine(const std::vector<model::NodeRecord>& nodes,
                             const std::vector<model::PartitionRecord>& partitions,
                             const std::vector<std::pair<std::string, uint32_t>>& licenses);

}  // namespace minke::engine
