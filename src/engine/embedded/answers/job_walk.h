// Walks the jobs in memory by their ids, for a listing: all of them, or those that a filter can mean, which
// are found without looking at the others. Between two pieces it keeps its position, not a pointer: jobs may
// come and go. State's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/embedded/state/state.h"

namespace minke::api {
class JobFilter;
}  // namespace minke::api

namespace minke::engine {

class JobWalk {
 public:
  // With job ids in the filter: the jobs of these ids, and the records of these arrays and heterogeneous
  // jobs.
  JobWalk(const State& state, const api::JobFilter& filter);

  // Call it first, and whenever jobs may have changed.
  void begin_piece();
  const Job* job() const { return job_; }  // null: there is no more
  void advance();

 private:
  // An id that the filter has, and the first job from the position on that it can mean.
  struct Named {
    uint32_t id;
    uint64_t job_id;
  };

  uint64_t first_of(uint32_t named) const;
  void find_nearest();

  static constexpr uint64_t kNone = uint64_t{1} << 32;  // behind the last id
  const State& state_;
  State::Jobs::const_iterator at_;  // of all jobs
  std::vector<Named> named_;        // empty: all jobs
  uint64_t next_id_ = 0;            // no job before it comes any more
  const Job* job_ = nullptr;
};

}  // namespace minke::engine
