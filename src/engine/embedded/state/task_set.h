// A set of indices of an array's tasks, as arithmetic runs: four millions of them are one run.
//
// Invariants: the runs ascend, and none begins before the one before it has ended, so that an index is found
// by halving. Runs that were given otherwise (0-8:2 and 1-7:2, or the same index twice) are sorted out when a
// set is made. What is done to many indices at once takes time by the runs and indices meant, never by their
// product. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>

#include "model/job_terms.pb.h"

namespace minke::engine {

class TaskSet {
 public:
  // Whether a set can be made of these ranges at a bearable cost: none is upside down, all indices are below
  // the limit, and together they do not count more than so many.
  static bool is_bearable(const google::protobuf::RepeatedPtrField<model::IndexRange>& ranges, uint32_t limit,
                          uint64_t most);

  TaskSet() = default;
  explicit TaskSet(const model::ArraySpec& spec) : TaskSet(spec.ranges()) {}
  explicit TaskSet(const google::protobuf::RepeatedPtrField<model::IndexRange>& ranges);

  bool empty() const { return count_ == 0; }
  uint64_t size() const { return count_; }
  size_t ranges() const { return runs_.size(); }
  uint32_t first() const;  // the lowest; must not be empty
  uint32_t pop_first();
  bool contains(uint32_t index) const;
  bool remove(uint32_t index);  // false where it is not there
  // Takes out what is in `chosen` too; the result is that.
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
  // The run that an index would be in.
  Runs::const_iterator run_of(uint32_t index) const;

  Runs runs_;
  uint64_t count_ = 0;
};

}  // namespace minke::engine
