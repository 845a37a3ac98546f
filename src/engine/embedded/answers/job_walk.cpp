#include "engine/embedded/answers/job_walk.h"

#include <algorithm>

#include "api/job_filter.pb.h"
#include "model/job_terms.pb.h"

namespace minke::engine {
namespace {

// From so many on it is as cheap to look at all jobs.
constexpr int kMostSought = 1000;

}  // namespace

JobWalk::JobWalk(const State& state, const api::JobFilter& filter) : state_(state), at_(state.jobs().end()) {
  if (filter.jobs_size() > kMostSought) return;
  for (const api::JobSelector& selector : filter.jobs()) named_.push_back({selector.job_id(), 0});
  std::sort(named_.begin(), named_.end(), [](const Named& a, const Named& b) { return a.id < b.id; });
  const auto same = [](const Named& a, const Named& b) { return a.id == b.id; };
  named_.erase(std::unique(named_.begin(), named_.end(), same), named_.end());
}

void JobWalk::begin_piece() {
  if (named_.empty()) {
    const State::Jobs& all = state_.jobs();
    at_ = next_id_ >= kNone ? all.end() : all.lower_bound(static_cast<uint32_t>(next_id_));
    job_ = at_ == all.end() ? nullptr : at_->second.get();
    return;
  }
  for (Named& one : named_) one.job_id = first_of(one.id);
  find_nearest();
}

void JobWalk::advance() {
  next_id_ = uint64_t{job_->id} + 1;
  if (named_.empty()) {
    ++at_;
    job_ = at_ == state_.jobs().end() ? nullptr : at_->second.get();
    return;
  }
  for (Named& one : named_)
    if (one.job_id < next_id_) one.job_id = first_of(one.id);
  find_nearest();
}

uint64_t JobWalk::first_of(uint32_t named) const {
  if (next_id_ >= kNone) return kNone;
  const auto from = static_cast<uint32_t>(next_id_);
  uint64_t first = kNone;
  // Its own record; the components of a heterogeneous job have the ids that follow.
  const auto found = state_.jobs().lower_bound(std::max(from, named));
  if (found != state_.jobs().end() && (found->first == named || found->second->het_job_id == named))
    first = found->first;
  if (const ArrayGroup* group = state_.find_array(named)) {
    const auto record = group->jobs.lower_bound(from);
    if (record != group->jobs.end()) first = std::min(first, uint64_t{*record});
  }
  return first;
}

void JobWalk::find_nearest() {
  uint64_t nearest = kNone;
  for (const Named& one : named_) nearest = std::min(nearest, one.job_id);
  job_ = nearest == kNone ? nullptr : state_.find(static_cast<uint32_t>(nearest));
}

}  // namespace minke::engine
