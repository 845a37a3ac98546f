// When will it start? The pass, run forward on a copy of the state: time jumps from one expected end to the
// next, and what would start then is written down. So the forecast follows the very policy that will decide.
// Jobs that end before their limits make it pessimistic, unless the caller has better beliefs (run_times.h);
// jobs submitted later with a higher priority are not foreseen. Pure; work is bounded by the options. Any
// thread, on values that nobody changes meanwhile.
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

// Limits outside of the machine (see LimitGate), on a copy that follows what starts and ends in one forecast.
class ForeseenLimits {
 public:
  virtual ~ForeseenLimits() = default;
  virtual std::optional<model::StateReason> refuse(std::uint32_t limit_group, std::int64_t now) = 0;
  virtual void started(RunKey key, std::uint32_t limit_group, std::int64_t now) = 0;
  virtual void ended(RunKey key) = 0;  // also of those that run now
};

struct ForecastOptions {
  std::uint32_t max_entries = 1000;  // the first ones of the queue; those behind get no forecast
  std::uint32_t max_starts = 20000;  // at least 1; tasks of large arrays count one by one
  std::uint32_t max_passes = 2000;
  std::uint64_t max_tests = 50000;  // placements tried, in all passes
  PassOptions pass;
  // When what runs is believed to end (s since the epoch), and how long what waits is believed to run. Nobody
  // is believed to outlast its limit, and reservations go by the limits all the same. Empty: everybody uses
  // up its limit.
  std::function<std::int64_t(RunKey)> believed_end;
  std::function<std::int64_t(EntryId)> believed_seconds;
  // Whether it has no time limit: where nothing is believed of it either, nobody knows when it ends, and what
  // starts after it is told so. Empty: everybody has one.
  std::function<bool(RunKey)> run_unlimited;
  std::function<bool(EntryId)> entry_unlimited;
  // Entries whose ids differ in these lowest bits alone are one job in several partitions: it starts once.
  std::uint32_t partition_bits = 0;
  // Called once for each forecast; empty, or null: the gate of `pass` stays as it is now.
  std::function<std::unique_ptr<ForeseenLimits>()> limits;
};

struct ExpectedStart {
  EntryId entry = 0;
  std::int64_t start = 0;  // s since the epoch; an array's: of its first task
  Placement placement;
  bool after_unlimited = false;  // what ended before it had no time limit: `start` is no forecast
};

// In the order of their starts. Entries that the bounds cut off, or that need nodes which are not available,
// are missing.
std::vector<ExpectedStart> forecast(const Machine& machine, const PendingQueue& queue,
                                    const RunningSet& running, std::int64_t now,
                                    const ForecastOptions& options = {});

// For one entry of the queue (or the job in whichever of its partitions starts first), however far behind
// (what lies beyond max_entries before it is left out).
std::optional<ExpectedStart> forecast_entry(const Machine& machine, const PendingQueue& queue,
                                            const RunningSet& running, EntryId entry, std::int64_t now,
                                            const ForecastOptions& options = {});

// The same if it asked for `request` instead, all else as it stands. The queue has the entry.
std::optional<ExpectedStart> forecast_changed(const Machine& machine, const PendingQueue& queue,
                                              const RunningSet& running, EntryId entry,
                                              const Request& request, std::int64_t now,
                                              const ForecastOptions& options = {});

// For a job that is not in the queue yet, and enters it at `from` (s since the epoch).
std::optional<ExpectedStart> forecast_later(const Machine& machine, const PendingQueue& queue,
                                            const RunningSet& running, const PendingEntry& entry,
                                            const Request& request, std::int64_t from, std::int64_t now,
                                            const ForecastOptions& options = {});

// For a job that is not in the queue (sbatch --test-only), as if submitted last with this priority.
std::optional<ExpectedStart> forecast_request(const Machine& machine, const PendingQueue& queue,
                                              const RunningSet& running, const Request& request,
                                              std::uint64_t priority, std::int64_t now,
                                              const ForecastOptions& options = {});

}  // namespace minke::sched
