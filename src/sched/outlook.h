// Outlook: when a job is expected to become eligible, to start and to end. It also covers jobs that wait for
// other jobs, for a time, or for their array's throttle.
//
// If a job waits for others, the outlook of those is computed first, but only for short chains. An Outlook
// looks at the starts of a few jobs and then returns nothing. So its work is bounded, however long the chains
// are, and even if they have cycles. Make one for each question, or pass on the number of starts that the
// last one left. Reads no clock; any thread that may use its OutlookJobs.
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

// A job that has not ended, or whose processes are still being killed. Times: s since the epoch.
struct OutlookJob {
  std::uint32_t id = 0;
  std::uint32_t array_job_id = 0;  // 0: not of an array
  std::uint32_t priority = 0;      // 0: held
  model::StateReason reason{};     // why it waits outside of the queue
  bool queued = false;             // it may start now
  bool holds_nodes = false;        // it runs, is suspended, or is completing
  bool ended = false;              // even if it still holds nodes
  bool several_tasks = false;      // an array record with several waiting tasks
  bool component = false;          // a component of a heterogeneous job
  bool no_limit = false;           // no time limit
  bool any_dependency = false;     // one fulfilled dependency is enough
  std::int64_t eligible_time = 0;
  std::int64_t start_time = 0;  // if it holds nodes
};

// The source of an Outlook's jobs.
class OutlookJobs {
 public:
  virtual ~OutlookJobs() = default;
  virtual std::int64_t now() const = 0;  // s since the epoch
  // Nothing if the job is not known.
  virtual std::optional<OutlookJob> job(std::uint32_t id) const = 0;
  // The record that has this task of an array.
  virtual std::optional<OutlookJob> task(std::uint32_t array_job_id, std::uint32_t index) const = 0;
  // The ids of all records of an array; nothing where there is no such array.
  virtual std::optional<std::vector<std::uint32_t>> array(std::uint32_t array_job_id) const = 0;
  virtual std::int64_t begin_time(std::uint32_t id) const = 0;  // the begin time that it asked for; 0: none
  // With the current state of each dependency.
  virtual std::vector<model::Dependency> dependencies(std::uint32_t id) const = 0;
  // For a job that holds nodes: its expected end; nothing if unknown.
  virtual std::optional<std::int64_t> expected_end(std::uint32_t id) const = 0;
  // For a waiting job: its expected run time in s; kUnlimitedSeconds if unknown.
  virtual std::int64_t expected_seconds(std::uint32_t id) const = 0;
  // One forecast each: for a job in the queue, and for a job that enters the queue at `from`.
  virtual std::optional<ExpectedStart> forecast(std::uint32_t id) const = 0;
  virtual std::optional<ExpectedStart> forecast_later(std::uint32_t id, std::int64_t from) const = 0;
};

class Outlook {
 public:
  static constexpr int kMostStarts = 12;
  // `jobs` must outlive it. `starts`: the number of jobs whose starts it may look at.
  explicit Outlook(const OutlookJobs& jobs, int starts = kMostStarts) : jobs_(jobs), starts_left_(starts) {}

  // In s since the epoch; nothing if unknown.
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
