// How many jobs a farm gets, and for how long: from how long its first cases took, and what the cluster has
// and allows. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minke::farm {

struct Needs {
  uint64_t mean_us = 0;  // a case, of those that have ended
  uint64_t longest_us = 0;
  uint64_t cases = 0;    // that are left
  uint32_t at_once = 1;  // cases in each job
};
// So many jobs of a farm and no more, and why: a sentence without a full stop.
struct Bound {
  uint64_t jobs = 0;
  std::string why;
};
struct Means {
  uint64_t free_jobs = 0;    // that run, or could start now; 0: not known
  uint64_t all_jobs = 0;     // that would fit if nothing else ran; 0: not known
  uint64_t wait_us = 0;      // until more than free_jobs could start, by the cluster's forecast; 0: not known
  uint64_t most_jobs = 998;  // that may be submitted
  uint64_t most_minutes = 0;  // of one job; 0: not known
  std::string time_by;        // what sets most_minutes: "partition main"; empty: not known
  std::vector<Bound> bounds;  // by limits of accounts
};
struct Size {
  uint64_t jobs = 1;
  uint64_t minutes = 60;
  std::vector<std::string> reasons;  // sentences
};

// `needs.mean_us` and `needs.cases` are not 0.
Size size_farm(const Needs& needs, const Means& means);

}  // namespace minke::farm
