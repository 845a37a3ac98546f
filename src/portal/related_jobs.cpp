// What stands beside a job: the jobs that it waits for, those that wait for it, and what happened to its
// nodes meanwhile. Bounded: of a long queue it looks at the jobs that wait for others alone, and at so many
// of them.
#include <algorithm>
#include <map>
#include <set>

#include "api/accounting.pb.h"
#include "api/jobs.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "portal/desk.h"
#include "portal/ended_jobs.h"
#include "portal/found_job.h"
#include "portal/job_answers.h"
#include "portal/job_json.h"
#include "portal/node_events.h"
#include "text/dependency.h"
#include "text/job_id.h"
#include "text/printable.h"
#include "view/text.h"

namespace minke::portal {
namespace {

constexpr size_t kMostNamed = 100, kMostLookedAt = 500, kMostEvents = 20;
constexpr int64_t kAround = 3600;  // s before and after a job

std::string_view status_word(const model::Dependency& one) {
  return one.status() == model::DEPENDENCY_FULFILLED ? "fulfilled"
         : one.status() == model::DEPENDENCY_FAILED  ? "failed"
                                                     : "unfulfilled";
}

Json related_json(const model::Dependency& term, const model::JobRecord* other, uint32_t job_id) {
  text::DependencyList list;
  list.terms.push_back(term);
  return {{"term", text::format_dependency_request(list)},
          {"status", status_word(term)},
          {"job_id", job_id},
          {"id", other == nullptr ? std::to_string(job_id) : text::format_job_id(*other, 200)},
          {"name", other == nullptr ? "" : text::printable(view::job_name(*other))},
          {"user", other == nullptr ? "" : other->user_name()},
          {"state", other == nullptr ? "" : std::string(view::state_text(*other))}};
}

// What it waits or waited for. Records of those jobs are asked for together.
Result<Json> dependencies_of(Call& call, const model::JobRecord& job) {
  Json list = Json::array();
  std::set<uint32_t> ids;
  for (const model::Dependency& one : job.spec().dependencies())
    if (one.job_id() != 0 && ids.size() < kMostNamed) ids.insert(one.job_id());
  std::map<uint32_t, const model::JobRecord*> known;
  engine::AccountingRecords records;
  if (!ids.empty()) {
    api::QueryAccountingRequest query;
    query.mutable_filter()->set_all_states(true);
    query.set_brief(true);
    for (const uint32_t id : ids) query.mutable_filter()->add_jobs()->set_job_id(id);
    auto fetched = engine::fetch_accounting(call.cluster, query);
    if (!fetched) return failure(fetched.error());
    records = std::move(*fetched);
    for (const api::AccountedJob* one : records.records) known.emplace(one->job().job_id(), &one->job());
  }
  for (const model::Dependency& one : job.spec().dependencies()) {
    if (list.size() == kMostNamed) break;
    const auto other = known.find(one.job_id());
    list.push_back(related_json(one, other == known.end() ? nullptr : other->second, one.job_id()));
  }
  return list;
}

bool is_about(const model::Dependency& term, const model::JobRecord& job) {
  if (term.job_id() == 0) return false;
  return term.job_id() == job.job_id() ||
         (term.job_id() == job.array_job_id() && (!term.has_array_task_id() || !job.has_array_task_id() ||
                                                  term.array_task_id() == job.array_task_id())) ||
         (job.het_job_id() != 0 && term.job_id() == job.het_job_id());
}

// Who waits for it, of those in the queue.
Result<Json> dependents_of(Call& call, const model::JobRecord& job) {
  Json list = Json::array();
  const auto queue = call.desk.queue().get(call.cluster, std::chrono::seconds(1));
  if (!queue) return failure(queue.error());
  api::JobFilter filter;
  const auto look = [&](bool of_same_user) {
    for (const model::JobRecord* one : (*queue)->jobs) {
      if (filter.jobs_size() >= static_cast<int>(kMostLookedAt)) return;
      if ((one->uid() == job.uid()) != of_same_user || one->state() != model::JOB_PENDING) continue;
      if (view::reason_text(*one).starts_with("Dependency")) filter.add_jobs()->set_job_id(one->job_id());
    }
  };
  look(true);
  look(false);
  if (filter.jobs().empty()) return list;
  filter.set_all_states(true);
  const auto fetched = engine::fetch_jobs(call.cluster, std::move(filter));
  if (!fetched) return failure(fetched.error());
  for (const model::JobRecord* one : fetched->records)
    for (const model::Dependency& term : one->spec().dependencies())
      if (list.size() < kMostNamed && one->state() == model::JOB_PENDING && is_about(term, job)) {
        list.push_back(related_json(term, one, one->job_id()));
        break;
      }
  return list;
}

// What is known of its nodes within an hour of it.
Json events_around(Call& call, const model::JobRecord& job, int64_t now) {
  Json list = Json::array();
  if (job.nodes().empty() || job.start_time() == 0) return list;
  const int64_t from = job.start_time() - kAround;
  const int64_t until = (view::is_finished(job.state()) ? job.end_time() : now) + kAround;
  std::set<std::string> names;
  for (const model::NodeAllocation& one : job.nodes()) names.insert(one.node());
  for (const view::NodeEvent& event : events_of_nodes(call.cluster, names, from, until))
    if (list.size() < kMostEvents) list.push_back(node_event_json(event));
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  for (const std::string& name : names) query.mutable_filter()->add_nodes(name);
  for (const model::JobState state : {model::JOB_NODE_FAIL, model::JOB_BOOT_FAIL})
    query.mutable_filter()->add_states(state);
  query.set_from(from);
  query.set_brief(true);
  (void)read_back(call.cluster, query, {.most = kMostEvents, .patience = std::chrono::milliseconds(100)},
                  [&](const api::AccountedJob& one) {
                    if (one.job().end_time() <= until && list.size() < kMostEvents)
                      list.push_back(failed_node_json(one.job()));
                    return true;
                  });
  return list;
}

}  // namespace

Json node_event_json(const view::NodeEvent& event) {
  return {{"node", event.node},  {"state", event.state}, {"reason", text::printable(event.reason)},
          {"time", event.since}, {"end", event.until},   {"user", view::user_name_of(event.uid)},
          {"job_id", 0}};
}

Json failed_node_json(const model::JobRecord& job) {
  return {{"node", job.node_list()}, {"state", view::state_text(job)}, {"reason", ""},
          {"time", job.end_time()},  {"end", job.end_time()},          {"user", ""},
          {"job_id", job.job_id()}};
}

Result<Reply> show_related(Call& call) {
  const auto found = find_job(call, false);
  if (!found) return failure(found.error());
  const model::JobRecord& job = found->accounted.job();
  auto dependencies = dependencies_of(call, job);
  if (!dependencies) return failure(dependencies.error());
  auto dependents = dependents_of(call, job);
  if (!dependents) return failure(dependents.error());
  return json_reply({{"now", found->now},
                     {"dependencies", std::move(*dependencies)},
                     {"dependents", std::move(*dependents)},
                     {"node_events", events_around(call, job, found->now)}});
}

}  // namespace minke::portal
