// Which jobs are in the scheduler's queue, and the passes over it.
//
// Invariant: a job is in the queue exactly while it may start: pending, durable, not held, eligible, its
// dependencies fulfilled, its array below the throttle. Whoever changes one of these calls update(). Passes
// run once per burst of events. State's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/job.h"
#include "model/cluster.pb.h"
#include "sched/forecast.h"
#include "sched/machine.h"
#include "sched/pass.h"
#include "sched/pending_queue.h"
#include "sched/running_set.h"
#include "sched/wait_reason.h"

namespace minke::engine {

struct Core;

class Scheduling {
 public:
  // The configuration has been checked: a layout that cannot be built is a broken invariant here.
  explicit Scheduling(Core& core);

  void update(Job& job);  // enters or takes out, as the invariant says; sets the reason where it must wait
  void throttle_changed(Job& array);  // or the number of its tasks that run, or wait
  void remove(const Job& job);        // out of the queue, whatever its state
  void request_pass();                // after this burst of events
  void pause(bool paused);            // no passes while the launcher cannot take orders

  // Books what a restart found running. A node that is gone: the error says so, nothing is booked.
  Status adopt(Job& job);
  void release(const Job& job);
  void time_limit_changed(const Job& job);

  void set_node_available(const std::string& node, bool available);
  void set_partition_up(const std::string& partition, bool up);

  // Checks a request against the machine; with several partitions, one that can take it is enough, and the
  // list is narrowed to those.
  Status check(const model::JobSpec& spec, std::string& partitions) const;
  // What each node would be asked for, for messages and records of jobs that wait.
  Result<sched::Request> request_for(const model::JobSpec& spec, const std::string& partition,
                                     uint32_t time_limit_minutes) const;

  uint32_t time_limit_of(const model::JobSpec& spec) const;  // minutes; of its first partition

  std::vector<sched::ExpectedStart> forecast() const;
  std::optional<sched::ExpectedStart> forecast_submission(const model::JobSpec& spec) const;
  sched::WaitReasons wait_reasons() const { return {machine_, queue_}; }
  model::StateReason reason_of(const sched::WaitReasons& reasons, const Job& job) const;

  // Of a job in the queue: what it asks for, in its first partition; null where it is not queued.
  const sched::Request* queued_request(const Job& job) const;

  const sched::Machine& machine() const { return machine_; }
  static uint32_t job_of_entry(sched::EntryId entry) { return static_cast<uint32_t>(entry >> 8); }
  size_t queued() const { return queue_.size(); }

 private:
  void pass();
  sched::RunKey start(sched::EntryId entry, const sched::Placement& placement, int64_t expected_end);
  static sched::EntryId entry_of(uint32_t job_id, size_t partition) {
    return (uint64_t{job_id} << 8) | partition;
  }
  uint32_t startable(const Job& job) const;

  Core& core_;
  sched::Machine machine_;
  sched::PendingQueue queue_;
  sched::RunningSet running_;
  bool pass_scheduled_ = false;
  bool paused_ = true;
};

uint32_t initial_priority(const model::JobSpec& spec, uint32_t job_id);

}  // namespace minke::engine
