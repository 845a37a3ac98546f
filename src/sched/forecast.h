// Forecast of start times. It runs the pass forward on a copy of the state: time jumps from one expected end
// to the next, and each start is recorded. So the forecast follows the same policy as the real scheduler. It
// is pessimistic if jobs end before their limits, unless the caller supplies better expectations
// (run_times.h). It does not foresee later submissions with a higher priority. The options bound the work.
//
// A forecast can be made in pieces (ForecastInPieces): it works on copies, and all that it asks of the
// options it asks before the first piece. So what happens to the cluster between two pieces does not matter,
// and the result is the same however it is cut. Pure; any thread, if nobody changes the values during a call.
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
  // Called for each limit group that the forecast may ask about, before it begins.
  virtual void expect(std::uint32_t limit_group) { (void)limit_group; }
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
  // Called once for each forecast. If empty or if it returns null, the gate of `pass` stays as it is now, and
  // must be valid until the last piece.
  std::function<std::unique_ptr<ForeseenLimits>()> limits;
};

struct ExpectedStart {
  EntryId entry = 0;
  std::int64_t start = 0;  // s since the epoch; an array's: of its first task
  Placement placement;
  bool after_unlimited = false;  // a job without time limit ended before: `start` is no forecast
  bool operator==(const ExpectedStart&) const = default;
};

class ForecastInPieces {
 public:
  // What each is of: see the function of that name.
  static ForecastInPieces forecast(const Machine& machine, const PendingQueue& queue,
                                   const RunningSet& running, std::int64_t now,
                                   const ForecastOptions& options = {});
  static ForecastInPieces forecast_entry(const Machine& machine, const PendingQueue& queue,
                                         const RunningSet& running, EntryId entry, std::int64_t now,
                                         const ForecastOptions& options = {});
  static ForecastInPieces forecast_changed(const Machine& machine, const PendingQueue& queue,
                                           const RunningSet& running, EntryId entry, const Request& request,
                                           std::int64_t now, const ForecastOptions& options = {});
  static ForecastInPieces forecast_later(const Machine& machine, const PendingQueue& queue,
                                         const RunningSet& running, const PendingEntry& entry,
                                         const Request& request, std::int64_t from, std::int64_t now,
                                         const ForecastOptions& options = {});
  ForecastInPieces(ForecastInPieces&&) noexcept;
  ForecastInPieces& operator=(ForecastInPieces&&) noexcept;
  ~ForecastInPieces();

  // Makes at most so many passes more; each starts some hundred jobs at most. True: it is finished.
  bool go_on(std::uint32_t passes);
  // Once it is finished: all starts, and the one that was asked for, if any.
  const std::vector<ExpectedStart>& starts() const;
  std::optional<ExpectedStart> start() const;
  const MachineLayout& layout() const;  // which placements are of; valid as long as this

 private:
  class Simulation;
  explicit ForecastInPieces(std::unique_ptr<Simulation> simulation);
  std::unique_ptr<Simulation> simulation_;
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
