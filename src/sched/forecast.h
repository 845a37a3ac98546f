// Forecast of start times. It runs the pass forward on a copy of the state: time jumps from one expected end
// to the next, and each start is recorded. So the forecast follows the same policy as the real scheduler. It
// is pessimistic if jobs end before their limits, unless the caller supplies better expectations
// (run_times.h). It does not foresee later submissions with a higher priority. The options bound the work.
// Pure; any thread, if nobody changes the values meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sched/machine.h"
#include "sched/pass.h"
#include "sched/pending_queue.h"
#include "sched/running_set.h"

namespace minke::model {
enum StateReason : int;
}  // namespace minke::model

namespace minke::sched {

// Limits outside of the machine (see LimitGate): a copy that follows the starts and ends of one forecast.
class ForeseenLimits {
 public:
  virtual ~ForeseenLimits() = default;
  virtual std::optional<model::StateReason> refuse(std::uint32_t limit_group, std::int64_t now) = 0;
  virtual void started(RunKey key, std::uint32_t limit_group, std::int64_t now) = 0;
  virtual void ended(RunKey key) = 0;  // also called for jobs that run now
};

struct ForecastOptions {
  std::uint32_t max_entries = 1000;  // the first ones of the queue; those behind get no forecast
  std::uint32_t max_starts = 20000;  // at least 1; tasks of large arrays count one by one
  std::uint32_t max_passes = 2000;
  std::uint64_t max_tests = 50000;  // placements tried, in all passes
  PassOptions pass;
  // When running jobs are expected to end (s since the epoch), and how long waiting jobs are expected to
  // run (s). No job is expected to outlast its limit, and reservations still use the limits. Empty:
  // every job runs until its limit.
  std::function<std::int64_t(RunKey)> believed_end;
  std::function<std::int64_t(EntryId)> believed_seconds;
  // Whether the job has no time limit. If nothing is expected of it either, its end is unknown, and starts
  // that depend on it are marked so. Empty: every job has a limit.
  std::function<bool(RunKey)> run_unlimited;
  std::function<bool(EntryId)> entry_unlimited;
  // Entries whose ids differ only in these lowest bits are one job in several partitions: it starts once.
  std::uint32_t partition_bits = 0;
  // Called once for each forecast. If empty or if it returns null, the gate of `pass` stays as it is now.
  std::function<std::unique_ptr<ForeseenLimits>()> limits;
};

struct ExpectedStart {
  EntryId entry = 0;
  std::int64_t start = 0;  // s since the epoch; an array's: of its first task
  Placement placement;
  bool after_unlimited = false;  // a job without time limit ended before: `start` is no forecast
};

// Returns the starts in their order. Entries beyond the bounds, and entries that need
// unavailable nodes, are missing.
std::vector<ExpectedStart> forecast(const Machine& machine, const PendingQueue& queue,
                                    const RunningSet& running, std::int64_t now,
                                    const ForecastOptions& options = {});

// For one entry of the queue, or for the first to start of its job's partitions. The entry may lie behind
// max_entries; entries between max_entries and it are then left out.
std::optional<ExpectedStart> forecast_entry(const Machine& machine, const PendingQueue& queue,
                                            const RunningSet& running, EntryId entry, std::int64_t now,
                                            const ForecastOptions& options = {});

// The same if the entry asked for `request` instead. The entry must be in the queue.
std::optional<ExpectedStart> forecast_changed(const Machine& machine, const PendingQueue& queue,
                                              const RunningSet& running, EntryId entry,
                                              const Request& request, std::int64_t now,
                                              const ForecastOptions& options = {});

// For a job that is not in the queue yet and will enter it at `from` (s since the epoch).
std::optional<ExpectedStart> forecast_later(const Machine& machine, const PendingQueue& queue,
                                            const RunningSet& running, const PendingEntry& entry,
                                            const Request& request, std::int64_t from, std::int64_t now,
                                            const ForecastOptions& options = {});

// For a job that is not in the queue (sbatch --test-only), as if it were submitted now with this priority.
std::optional<ExpectedStart> forecast_request(const Machine& machine, const PendingQueue& queue,
                                              const RunningSet& running, const Request& request,
                                              std::uint64_t priority, std::int64_t now,
                                              const ForecastOptions& options = {});

}  // namespace minke::sched
