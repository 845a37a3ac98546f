// RunTimes: how long a job will run, going by what its user's and everybody's jobs did before.
//
// The answer is the weighted median of the user's last jobs, each scaled to the time limit at hand: recent
// ones weigh more, and so do those with the same limit and the same number of processors; everybody's last
// jobs count for one more. Of a job that runs already only what ran longer is asked. Deterministic; owned by
// one thread; memory is bounded for each user.
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
    std::int64_t seconds = 0;  // that it ran
    std::uint32_t processors = 0;
  };
  void ended(std::uint64_t user, const Run& run);

  // s, more than `elapsed`, which it has run already; at most the limit unless that has passed; the limit
  // where nothing is known.
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
