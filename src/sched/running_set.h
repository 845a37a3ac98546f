// RunningSet: the running jobs, their placements and their latest expected ends, ordered by end.
//
// Invariant: keys are unique. Changes cost O(log n). Owned by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sched/ids.h"
#include "sched/placement.h"

namespace minke::sched {

class RunningSet {
 public:
  struct End {
    std::int64_t time = 0;  // s since the epoch
    RunKey key = 0;
    auto operator<=>(const End&) const = default;
  };
  using Ordered = std::map<End, Placement>;

  // `expected_end`: start plus limit_seconds() of the time limit. The key must be new.
  void add(RunKey key, std::int64_t expected_end, Placement placement);
  // Returns what the job held; nothing if the key is not in the set.
  std::optional<Placement> remove(RunKey key);
  bool set_expected_end(RunKey key, std::int64_t expected_end);
  const Placement* find(RunKey key) const;
  std::size_t size() const { return by_end_.size(); }
  // Changes whenever a run is added, or a run is to last longer than before.
  std::uint64_t version() const { return version_; }
  const Ordered& by_end() const { return by_end_; }

 private:
  Ordered by_end_;
  std::uint64_t version_ = 0;
  std::unordered_map<RunKey, std::int64_t> ends_;  // looked up only, never walked
};

}  // namespace minke::sched
