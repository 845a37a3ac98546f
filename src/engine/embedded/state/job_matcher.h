// Which jobs a request means, of those that its sender may know of.
//
// A filter is made ready once and then asked about each job: that takes time by the values in it plus the
// jobs, never by their product. Whoever answers with jobs asks selected() of each, and so shows nobody what
// PrivateData keeps from him. Pure; any thread.
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

// Whose jobs a user sees.
struct Viewer {
  uint32_t uid = 0;
  bool sees_all = true;
  bool sees(uint32_t job_uid) const { return sees_all || uid == job_uid; }
};

// Values of one field of a filter; none means any.
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

  // The sender may see it, and the filter's job ids mean it; none mean all.
  bool selected(const Job& job) const;
  bool selected(const model::JobRecord& record) const;
  // The same, or one of its tasks that wait is named.
  bool touches(const Job& job) const;
  // The sender may see this user's jobs, and the filter wants them.
  bool is_of(uint32_t uid) const { return viewer_.sees(uid) && uids_.admit(uid); }
  // Whether a job, as Queries::full_record() has it, passes everything but job ids and states.
  bool passes(const model::JobRecord& record) const;
  bool has_state(model::JobState state) const { return states_.admit(static_cast<int>(state)); }

 private:
  struct Named {
    bool whole = false;  // without tasks or components
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

// More indices than this no array has; so many a request may name, some of them more than once.
constexpr uint32_t kMostIndices = 4000002;
constexpr uint64_t kMostNamed = uint64_t{4} * kMostIndices;
// How many ranges of indices a request may name, and an array's record may be left with.
constexpr int kMostRanges = 32768;
// Adds ranges as they were named, cut off where no array has indices.
void add_ranges(const google::protobuf::RepeatedPtrField<model::IndexRange>& given,
                google::protobuf::RepeatedPtrField<model::IndexRange>& ranges);

}  // namespace minke::engine
