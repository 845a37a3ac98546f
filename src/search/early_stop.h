// Which running trials to stop, as `early_terminate: hyperband` of W&B's sweep files has it: a trial that has
// logged its metric so often as a bracket says must be among the best 1/eta of all that have come so far.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"

namespace minke::search {

struct EarlyStop {
  // One of them: the first bracket, or the last iteration with the number of brackets below it.
  uint64_t min_iter = 0;
  uint64_t max_iter = 0, s = 0;
  double eta = 3;
  // A trial counts by its best value at the bracket; otherwise by its best one until now, so that one that
  // has become better meanwhile goes on.
  bool strict = false;
};

Status check(const EarlyStop& settings);
// At how many values trials are judged, in order.
std::vector<uint64_t> brackets(const EarlyStop& settings);

// The values that trials have logged. All are minimised.
class EarlyStopping {
 public:
  explicit EarlyStopping(const EarlyStop& settings) : settings_(settings), brackets_(brackets(settings)) {}

  // `count` values have been logged so far, `best` is the best of them.
  void report(uint64_t trial, uint64_t count, double best);
  bool should_stop(uint64_t trial) const;

 private:
  struct Course {
    uint64_t count = 0;
    double best = 0;
    std::map<uint64_t, double> at;  // bracket: the best value when it was reached
  };
  EarlyStop settings_;
  std::vector<uint64_t> brackets_;
  std::map<uint64_t, Course> courses_;
};

}  // namespace minke::search
