// Beliefs: how long jobs are believed to run, and when what runs is believed to end, going by the jobs that
// have ended (run_times.h).
//
// Nobody is believed to end before now. What is asked of a run is rounded to a sixteenth of its age, so that
// like jobs are asked about once; what is shown and what forecasts go by is the same answer, or a job would
// be said to start before the end of the one that it waits for. Owned by one thread; no clock.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>

#include "sched/request.h"
#include "sched/run_times.h"

namespace minke::sched {

// A job that runs: times in s since the epoch, `limit` in s (kUnlimitedSeconds: none).
struct Run {
  std::uint32_t uid = 0;
  std::int64_t start = 0;
  std::int64_t suspended = 0;  // s, in all
  std::int64_t limit = kUnlimitedSeconds;
  std::uint32_t cpus = 1;
};

class Beliefs {
 public:
  // A job has ended that ran so many seconds under a limit of so many; to be told in the order of the ends.
  // Values out of range count as the nearest in it.
  void ended(std::uint32_t uid, std::int64_t limit, std::int64_t seconds, std::uint32_t cpus);

  std::uint32_t runs() const { return runs_; }  // that have ended
  std::uint32_t runs_of(std::uint32_t uid) const;

  // s that a job will have run in all, which has run `elapsed` s already: more than that. The limit where
  // nothing is known.
  std::int64_t seconds(std::uint32_t uid, std::int64_t limit, std::uint32_t cpus, std::int64_t elapsed) const;
  // s since the epoch; after `now`.
  std::int64_t end_of(const Run& run, std::int64_t now) const;
  // False of one without a time limit that no earlier run tells anything of: its expected end is only what is
  // planned with.
  bool knows_end(const Run& run, std::int64_t now) const;

  // The same answers, like questions being asked once. Valid until something more has ended.
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

// Processors that a job of this request will have at the least; at least 1.
std::uint32_t cpus_of(const Request& request);

}  // namespace minke::sched
