// JobMatcher: which jobs a request selects, among those that its sender may know of.
//
// A filter is prepared once and then applied to each job. This costs the number of its values plus the number
// of jobs, never their product. Every answer with jobs checks each with selected(), so nobody sees what
// PrivateData hides from them. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/embedded/state/job.h"
#include "model/job_terms.pb.h"

namespace minke::api {
class JobFilter;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
enum JobState : int;
}  // namespace minke::model

namespace minke::engine {

// Whose jobs a user may see.
struct Viewer {
  uint32_t uid = 0;
  bool sees_all = true;
  bool sees(uint32_t job_uid) const { return sees_all || uid == job_uid; }
};

// The values of one field of a filter; no value means any.
template <typename Value>
class WantedValues {
 public:
  template <typename List>
  explicit WantedValues(const List& list) : values_(list.begin(), list.end()) {}
  bool any() const { return values_.empty(); }
  bool admit(const Value& value) const { return values_.empty() || values_.contains(value); }

 private:
  std::unordered_set<Value> values_;
};

class JobMatcher {
 public:
  // The filter must outlive it.
  JobMatcher(const api::JobFilter& filter, Viewer viewer);

  // Whether the sender may see it and the filter's job ids include it; no ids mean all.
  bool selected(const Job& job) const;
  bool selected(const model::JobRecord& record) const;
  // The same, or true if the filter names one of its waiting tasks.
  bool touches(const Job& job) const;
  bool touches(const model::JobRecord& record) const;
  // Whether the sender may see this user's jobs and the filter selects them.
  bool is_of(uint32_t uid) const { return viewer_.sees(uid) && uids_.admit(uid); }
  // Whether a job from Queries::full_record() passes all of the filter except job ids and states.
  bool passes(const model::JobRecord& record) const;
  bool has_state(model::JobState state) const { return states_.admit(static_cast<int>(state)); }

 private:
  struct Named {
    bool whole = false;  // named without tasks or components
    std::unordered_set<uint32_t> components;
    TaskSet tasks;
  };
  struct Identity;
  bool names(const Identity& job) const;

  const api::JobFilter& filter_;
  Viewer viewer_;
  std::unordered_map<uint32_t, Named> named_;  // by job id
  WantedValues<std::string_view> users_, names_, accounts_, qos_, wckeys_, reservations_, partitions_, nodes_;
  WantedValues<uint32_t> uids_;
  WantedValues<int> states_;
};

// No array has more indices than this. A request may name kMostNamed of them, with repetitions.
constexpr uint32_t kMostIndices = 4000002;
constexpr uint64_t kMostNamed = uint64_t{4} * kMostIndices;
// The most ranges of indices that a request may name, and that an array's record may be left with.
constexpr int kMostRanges = 32768;
// Adds ranges as the request named them, cut to the indices that arrays can have.
void add_ranges(const google::protobuf::RepeatedPtrField<model::IndexRange>& given,
                google::protobuf::RepeatedPtrField<model::IndexRange>& ranges);

}  // namespace minke::engine
