// Beliefs: how long jobs are expected to run and when running jobs are expected to end, learned from the jobs
// that have ended (run_times.h).
//
// An expected end is never before now. The age of a running job is rounded to a sixteenth of it, so that one
// answer serves similar jobs. Displays and forecasts use the same answer. Otherwise a job could be shown to
// start before the end of the job that it waits for. Owned by one thread; reads no clock.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>

#include "sched/request.h"
#include "sched/run_times.h"

namespace minke::sched {

// A running job. Times are in s since the epoch; `limit` is in s (kUnlimitedSeconds: none).
struct Run {
  std::uint32_t uid = 0;
  std::int64_t start = 0;
  std::int64_t suspended = 0;  // s, in all
  std::int64_t limit = kUnlimitedSeconds;
  std::uint32_t cpus = 1;
};

class Beliefs {
 public:
  // Records that a job with time limit `limit` (s) has ended after running for `seconds`. Call it in the
  // order of the ends. A value out of range counts as the nearest valid one.
  void ended(std::uint32_t uid, std::int64_t limit, std::int64_t seconds, std::uint32_t cpus);

  std::uint32_t runs() const { return runs_; }  // number of jobs that have ended
  std::uint32_t runs_of(std::uint32_t uid) const;

  // The expected total run time (s) of a job that has already run for `elapsed` s. It is more than `elapsed`.
  // Returns the limit if nothing is known.
  std::int64_t seconds(std::uint32_t uid, std::int64_t limit, std::uint32_t cpus, std::int64_t elapsed) const;
  // s since the epoch; after `now`.
  std::int64_t end_of(const Run& run, std::int64_t now) const;
  // False if the job has no time limit and no earlier job says anything about it. Its expected end
  // then serves only for planning.
  bool knows_end(const Run& run, std::int64_t now) const;

  // Caches answers, so that equal questions are computed once. Valid until the next call of ended().
  class Asked {
   public:
    explicit Asked(const Beliefs& beliefs) : beliefs_(beliefs) {}
    std::int64_t seconds(std::uint32_t uid, std::int64_t limit, std::uint32_t cpus, std::int64_t elapsed);
    std::int64_t end_of(const Run& run, std::int64_t now);

   private:
    const Beliefs& beliefs_;
    std::map<std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::int64_t>, std::int64_t> known_;
  };

 private:
  static std::int64_t rounded(std::int64_t elapsed);

  RunTimes run_times_;
  std::unordered_map<std::uint32_t, std::uint32_t> runs_of_user_;  // looked up only
  std::uint32_t runs_ = 0;
};

// The smallest number of processors that a job of this request will have; at least 1.
std::uint32_t cpus_of(const Request& request);

}  // namespace minke::sched
