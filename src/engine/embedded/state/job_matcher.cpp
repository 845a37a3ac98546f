#include "engine/embedded/state/job_matcher.h"

#include <algorithm>
#include <string>

#include "api/job_filter.pb.h"
#include "model/job_record.pb.h"
#include "model/job_terms.pb.h"

namespace minke::engine {

using model::JobRecord;

// The numbers by which job ids can name a job. `task`: kNoTask for the record of the waiting tasks.
struct JobMatcher::Identity {
  uint32_t job_id, array_job_id, task, het_job_id, het_offset;

  explicit Identity(const Job& job)
      : job_id(job.id),
        array_job_id(job.array_job_id),
        task(job.array_task),
        het_job_id(job.het_job_id),
        het_offset(job.het_offset) {}
  explicit Identity(const JobRecord& job)
      : job_id(job.job_id()),
        array_job_id(job.array_job_id()),
        task(job.has_array_task_id() ? job.array_task_id() : kNoTask),
        het_job_id(job.het_job_id()),
        het_offset(job.het_job_offset()) {}
};

JobMatcher::JobMatcher(const api::JobFilter& filter, Viewer viewer)
    : filter_(filter),
      viewer_(viewer),
      users_(filter.users()),
      names_(filter.names()),
      accounts_(filter.accounts()),
      qos_(filter.qos()),
      wckeys_(filter.wckeys()),
      reservations_(filter.reservations()),
      partitions_(filter.partitions()),
      nodes_(filter.nodes()),
      uids_(filter.uids()),
      states_(filter.states()) {
  std::unordered_map<uint32_t, google::protobuf::RepeatedPtrField<model::IndexRange>> tasks;
  for (const api::JobSelector& selector : filter.jobs()) {
    Named& named = named_[selector.job_id()];
    if (selector.has_het_offset()) {
      named.components.insert(selector.het_offset());
    } else if (selector.tasks().empty()) {
      named.whole = true;
    } else {
      add_ranges(selector.tasks(), tasks[selector.job_id()]);
    }
  }
  for (const auto& [id, ranges] : tasks) {
    if (TaskSet::is_bearable(ranges, UINT32_MAX, kMostNamed)) named_[id].tasks = TaskSet(ranges);
  }
}

void add_ranges(const google::protobuf::RepeatedPtrField<model::IndexRange>& given,
                google::protobuf::RepeatedPtrField<model::IndexRange>& ranges) {
  for (const model::IndexRange& range : given) {
    if (range.first() >= kMostIndices || range.last() < range.first()) continue;
    *ranges.Add() = range;
    ranges.rbegin()->set_last(std::min(range.last(), kMostIndices - 1));
  }
}

bool JobMatcher::names(const Identity& job) const {
  if (named_.empty()) return true;
  for (const uint32_t id : {job.job_id, job.array_job_id, job.het_job_id}) {
    const auto found = named_.find(id);
    if (found == named_.end()) continue;
    const Named& named = found->second;
    if (named.whole) return true;
    if (id == job.het_job_id && named.components.contains(job.het_offset)) return true;
    if (id == job.array_job_id && job.task != kNoTask && named.tasks.contains(job.task)) return true;
  }
  return false;
}

bool JobMatcher::selected(const Job& job) const {
  return viewer_.sees(job.uid) && names(Identity(job));
}

bool JobMatcher::selected(const JobRecord& record) const {
  return viewer_.sees(record.uid()) && names(Identity(record));
}

bool JobMatcher::touches(const Job& job) const {
  return selected(job) || (viewer_.sees(job.uid) && job.array && named_.contains(job.array_job_id));
}

bool JobMatcher::touches(const JobRecord& record) const {
  return selected(record) ||
         (viewer_.sees(record.uid()) && record.has_array_pending() && named_.contains(record.array_job_id()));
}

bool JobMatcher::passes(const JobRecord& record) const {
  // A job may have a list of partitions or reservations: one match is enough.
  const auto admit_one = [](const WantedValues<std::string_view>& wanted, std::string_view list) {
    for (;;) {
      const size_t comma = list.find(',');
      if (wanted.admit(list.substr(0, comma))) return true;
      if (comma == std::string_view::npos) return false;
      list.remove_prefix(comma + 1);
    }
  };
  const auto on_node = [&] {
    return nodes_.any() || std::any_of(record.nodes().begin(), record.nodes().end(),
                                       [&](const auto& node) { return nodes_.admit(node.node()); });
  };
  return users_.admit(record.user_name()) && uids_.admit(record.uid()) &&
         names_.admit(record.has_spec() ? record.spec().name() : record.name()) &&
         accounts_.admit(record.account()) && qos_.admit(record.qos()) &&
         wckeys_.admit(record.spec().wckey()) && admit_one(reservations_, record.spec().reservation()) &&
         admit_one(partitions_, record.partition()) && on_node();
}

}  // namespace minke::engine
