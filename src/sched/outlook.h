// Outlook: when a job that waits for other jobs, for a time or for its array's throttle is expected to have
// its turn, and when one is expected to start and to end.
//
// Where a job waits for others, their own outlook is asked, so far as a chain is short: an Outlook looks at
// the starts of a few jobs and then knows nothing more, so that its work is bounded however long chains are,
// and whether they are circles. Make one for each question, or hand on what the one before has left. No
// clock; any thread, as its jobs allow.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/forecast.h"

namespace minke::model {
class Dependency;
enum StateReason : int;
}  // namespace minke::model

namespace minke::sched {

// A job that has not ended, or whose processes are still being cleared away. Times: s since the epoch.
struct OutlookJob {
  std::uint32_t id = 0;
  std::uint32_t array_job_id = 0;  // 0: not of an array
  std::uint32_t priority = 0;      // 0: held
  model::StateReason reason{};     // of one that waits outside of the queue
  bool queued = false;             // it may start now
  bool holds_nodes = false;        // it runs, is suspended, or is being cleared away
  bool ended = false;              // even where it still holds nodes
  bool several_tasks = false;      // of an array, which wait
  bool component = false;          // of a heterogeneous job
  bool no_limit = false;           // of time
  bool any_dependency = false;     // one of its terms is enough
  std::int64_t eligible_time = 0;
  std::int64_t start_time = 0;  // of one that holds nodes
};

// Where an Outlook has its jobs from.
class OutlookJobs {
 public:
  virtual ~OutlookJobs() = default;
  virtual std::int64_t now() const = 0;  // s since the epoch
  // Nothing where it is not known.
  virtual std::optional<OutlookJob> job(std::uint32_t id) const = 0;
  // The record that has this task of an array.
  virtual std::optional<OutlookJob> task(std::uint32_t array_job_id, std::uint32_t index) const = 0;
  // The ids of all records of an array; nothing where there is no such array.
  virtual std::optional<std::vector<std::uint32_t>> array(std::uint32_t array_job_id) const = 0;
  virtual std::int64_t begin_time(std::uint32_t id) const = 0;  // that it asked for; 0: none
  // With what has become of them.
  virtual std::vector<model::Dependency> dependencies(std::uint32_t id) const = 0;
  // Of one that holds nodes: when it is believed to end; nothing: nobody knows.
  virtual std::optional<std::int64_t> expected_end(std::uint32_t id) const = 0;
  // Of one that waits: s that it is believed to run; kUnlimitedSeconds: nobody knows.
  virtual std::int64_t expected_seconds(std::uint32_t id) const = 0;
  // One forecast each: of one in the queue, and of one that enters it at `from`.
  virtual std::optional<ExpectedStart> forecast(std::uint32_t id) const = 0;
  virtual std::optional<ExpectedStart> forecast_later(std::uint32_t id, std::int64_t from) const = 0;
};

class Outlook {
 public:
  static constexpr int kMostStarts = 12;
  // `jobs` must outlive it. `starts`: of how many jobs it may look at the starts.
  explicit Outlook(const OutlookJobs& jobs, int starts = kMostStarts) : jobs_(jobs), starts_left_(starts) {}

  // s since the epoch; nothing where nobody can say.
  std::optional<std::int64_t> eligible(const OutlookJob& job);
  std::optional<ExpectedStart> start(const OutlookJob& job);
  std::optional<std::int64_t> end(const OutlookJob& job);
  int starts_left() const { return starts_left_; }

 private:
  std::optional<std::int64_t> next_task_ends(std::uint32_t array_job_id);
  std::optional<std::int64_t> all_fulfilled(const OutlookJob& job);
  std::optional<std::int64_t> fulfilled(const OutlookJob& job, const model::Dependency& term);
  std::optional<std::int64_t> fulfilled_by(const OutlookJob& other, const model::Dependency& term);

  const OutlookJobs& jobs_;
  int starts_left_;
};

}  // namespace minke::sched
