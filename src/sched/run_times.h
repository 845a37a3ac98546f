// RunTimes: estimates how long a job will run from earlier jobs of its user and of everybody.
//
// The estimate is the weighted median of the user's last jobs, each scaled to the given time limit. Recent
// jobs weigh more, and so do jobs with the same limit and the same number of processors. Everybody's last
// jobs count together as one more job. For a running job, only jobs that ran longer count. Deterministic;
// owned by one thread; memory per user is bounded.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace minke::sched {

class RunTimes {
 public:
  struct Run {
    std::int64_t limit = 0;    // s, at least 1
    std::int64_t seconds = 0;  // how long it ran
    std::uint32_t processors = 0;
  };
  void ended(std::uint64_t user, const Run& run);

  // In s. More than `elapsed`, which the job has already run. At most the limit, unless that has passed.
  // The limit if nothing is known.
  std::int64_t expected(std::uint64_t user, std::int64_t limit, std::uint32_t processors,
                        std::int64_t elapsed) const;

 private:
  static constexpr std::size_t kOfUser = 60;
  static constexpr std::size_t kOfAll = 200;
  std::unordered_map<std::uint64_t, std::deque<Run>>
      by_user_;  // the last ones, latest at the back; looked up only
  std::deque<Run> all_;
};

}  // namespace minke::sched
