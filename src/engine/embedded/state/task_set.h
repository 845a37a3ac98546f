// TaskSet: a set of indices of array tasks as arithmetic runs, so that four million indices can be one run.
//
// Invariants: the runs ascend and do not overlap, so that an index is found by bisection. Ranges
// that were given otherwise (0-8:2 with 1-7:2, or an index twice) are normalised when a set is
// made. Operations on many indices take time by the number of runs and indices involved, never by
// their product. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>

#include "model/job_terms.pb.h"

namespace minke::engine {

class TaskSet {
 public:
  // Whether a set of these ranges has a bearable cost: each range is ascending, all indices are below
  // `limit`, and they are at most `most` in total.
  static bool is_bearable(const google::protobuf::RepeatedPtrField<model::IndexRange>& ranges, uint32_t limit,
                          uint64_t most);

  TaskSet() = default;
  explicit TaskSet(const model::ArraySpec& spec) : TaskSet(spec.ranges()) {}
  explicit TaskSet(const google::protobuf::RepeatedPtrField<model::IndexRange>& ranges);

  bool empty() const { return count_ == 0; }
  uint64_t size() const { return count_; }
  size_t ranges() const { return runs_.size(); }
  uint32_t first() const;  // the lowest; requires that it is not empty
  uint32_t pop_first();
  bool contains(uint32_t index) const;
  bool remove(uint32_t index);  // false if it is not in the set
  // Removes the indices that are in `chosen` too, and returns them.
  TaskSet take(const TaskSet& chosen);
  void add(const TaskSet& others);
  void write(model::ArraySpec& spec) const;  // ranges only

 private:
  struct Run {
    uint32_t last = 0;
    uint32_t step = 1;
  };
  class Builder;
  using Runs = std::map<uint32_t, Run>;  // by first index

  static uint64_t size_of(uint32_t first, const Run& run) {
    return (uint64_t{run.last} - first) / run.step + 1;
  }
  // The run that could contain the index.
  Runs::const_iterator run_of(uint32_t index) const;

  Runs runs_;
  uint64_t count_ = 0;
};

}  // namespace minke::engine
