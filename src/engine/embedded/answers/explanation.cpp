#include "engine/embedded/answers/explanation.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "api/explanation.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/history.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/outlook.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"
#include "model/error.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "text/state.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kShown = 8;          // jobs of each kind
constexpr size_t kMostAhead = 10000;  // counted
constexpr size_t kMostLooks = 20000;  // at entries of the queue, of all partitions

bool of_limits(StateReason reason) {
  return reason >= ASSOC_GRP_CPU;
}

}  // namespace

void explain_job(Core& core, Queries& queries, const api::ExplainJobRequest& request, uint32_t uid,
                 LongAnswer& answer) {
  const auto explanation = std::make_shared<Explanation>(core, queries, uid, answer);
  answer.keep(explanation);
  explanation->begin(request.job());
}

api::ExplainJobReply& Explanation::reply() {
  return message_.body<api::ExplainJobReply>();
}

const Job* Explanation::find(const api::JobSelector& selector) {
  uint32_t id = selector.job_id();
  if (selector.has_het_offset()) id += selector.het_offset();
  if (selector.tasks_size() > 0) {
    const uint32_t index = selector.tasks(0).first();
    const Job* task = core_.state.find_task(selector.job_id(), index);
    if (task != nullptr && task->array)
      reply().set_task(std::to_string(selector.job_id()) + "_" + std::to_string(index));
    return task;
  }
  if (const Job* job = core_.state.find(id)) return job;
  const ArrayGroup* group = core_.state.find_array(id);
  return group == nullptr || group->jobs.empty() ? nullptr : core_.state.find(*group->jobs.begin());
}

void Explanation::begin(const api::JobSelector& selector) {
  const Job* job = find(selector);
  const bool known = job != nullptr && job->committed && core_.rights->viewer(uid_).sees(job->uid);
  if (!known || (job->ended() && !job->completing)) {
    rpc::set_error(message_.message(), Error{kInvalidJobId, {}});
    return finish();
  }
  describe_asked(*job);
  if (!job->holds_nodes()) plan(*job);
  go_on();
}

void Explanation::describe_asked(const Job& job) {
  reply().set_now(core_.now());
  *reply().mutable_job() = queries_.full_record(job);
  const sched::WaitReasons reasons = core_.scheduling->wait_reasons();
  reply().mutable_job()->set_reason(core_.scheduling->reason_of(reasons, job));
  if (std::string more = core_.scheduling->reason_detail_of(reasons, job); !more.empty())
    reply().mutable_job()->set_reason_detail(std::move(more));
  if (!job.holds_nodes()) return show_unavailable_nodes(job);
  if (core_.history->knows_end(job)) reply().set_end_time(core_.history->expected_end(job));
  reply().set_runs_of_user(core_.history->runs_of(job.uid));
  reply().set_runs_of_all(core_.history->runs());
}

void Explanation::plan(const Job& asked) {
  const Job* job = &asked;
  if (asked.het_job_id != 0 && !asked.is_het_leader()) job = core_.state.find(asked.het_job_id);
  const bool queued = job != nullptr && job->queued;
  if (!queued && asked.details) reply().set_never(asked.details->reason_detail);
  if (job == nullptr) return;
  job_id_ = job->id;
  if (!queued) {
    if (job->reason == WAIT_DEPENDENCY) stages_.push_back(&Explanation::show_awaited_jobs);
    stages_.push_back(&Explanation::forecast_start);
    stages_.push_back(&Explanation::forecast_by_limits);
    return;
  }
  reply().set_free_now(free_now(*job));
  stages_ = {&Explanation::forecast_start, &Explanation::forecast_by_limits};
  const StateReason reason = reply().job().reason();
  if (reason == WAIT_LICENSES) {
    stages_.push_back(&Explanation::show_license_holders);
  } else if (of_limits(reason)) {
    stages_.push_back(&Explanation::show_limits);
  } else {
    stages_.push_back(&Explanation::show_jobs_before);
    stages_.push_back(&Explanation::show_jobs_at);
  }
  stages_.push_back(&Explanation::list_smaller);
  stages_.push_back(&Explanation::try_smaller);
}

void Explanation::go_on() {
  if (stages_.empty()) return finish();
  answer_.next_with_forecast([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->make_piece();
  });
}

void Explanation::make_piece() {
  const Job* job = core_.state.find(job_id_);
  // The job may have started meanwhile. What was found is still valid for the moment of the question.
  if (job == nullptr || job->state != JOB_PENDING) return finish();
  if (!(this->*stages_.front())(*job)) stages_.pop_front();
  go_on();
}

void Explanation::finish() {
  if (message_.has<api::ExplainJobReply>()) {
    sort_smaller();
    if (const Status seen = core_.rights->redact(uid_, reply()); !seen)
      rpc::set_error(message_.message(), seen.error());
  }
  answer_.send(message_.message(), true);
  answer_.end();
}

void Explanation::show_unavailable_nodes(const Job& job) {
  std::unordered_set<std::string> members;
  for (const std::string& name : job.submission->partitions) {
    const PartitionRecord* partition = core_.nodes->find_partition(name);
    if (partition == nullptr) continue;
    if (auto names = text::expand_hostlist(partition->nodes())) members.insert(names->begin(), names->end());
  }
  for (const NodeRecord& node : core_.nodes->nodes()) {
    if (is_available(node.state()) || !members.contains(node.name())) continue;
    std::string line = node.name() + ": " + std::string(is_down(node.state()) ? "down" : "drained");
    if (!node.reason().empty()) line += " (" + node.reason() + ")";
    reply().add_unavailable_nodes(line);
    if (static_cast<size_t>(reply().unavailable_nodes_size()) == kShown) break;
  }
}

api::JobInTheWay Explanation::describe(const Job& job) const {
  api::JobInTheWay shown;
  const JobRecord record = queries_.full_record(job);
  shown.set_job_id(job.id);
  shown.set_array_job_id(job.array_job_id);
  if (job.array_task != kNoTask) shown.set_array_task_id(job.array_task);
  shown.set_user(record.user_name());
  shown.set_priority(job.priority);
  shown.set_num_nodes(record.num_nodes());
  shown.set_num_cpus(record.num_cpus());
  shown.set_num_gpus(static_cast<uint32_t>(text::gpus_in(record.tres_gres())));
  shown.set_node_list(record.node_list());
  shown.set_partition(record.partition());
  if (job.holds_nodes()) {
    shown.set_running(true);
    if (core_.history->knows_end(job)) shown.set_end_time(core_.history->expected_end(job));
    shown.set_limit_end(record.end_time());
  }
  return shown;
}

bool Explanation::forecast_start(const Job& job) {
  if (!outlook_) outlook_.emplace(core_, core_.history->beliefs());
  const auto expected = outlook_->start(job);
  if (outlook_->unfinished()) return true;
  outlook_.reset();
  const int64_t now = core_.now();
  if (expected) {
    reply().set_runs_of_user(core_.history->runs_of(job.uid));
    reply().set_runs_of_all(core_.history->runs());
    reply().set_after_unlimited(expected->after_unlimited);
  }
  if (!expected || expected->after_unlimited) return false;
  reply().set_start_time(std::max(now, expected->start));
  for (const sched::NodeShare& share : expected->placement.nodes)
    nodes_.push_back(core_.world->machine().layout().nodes()[share.node].name);
  std::sort(nodes_.begin(), nodes_.end());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  reply().set_start_nodes(text::compress_hostlist(nodes_));
  reply().set_judged_forecasts(core_.history->judged());
  if (core_.history->judged() == 0 || expected->start <= now) return false;
  const auto range = core_.history->range(expected->start - now);
  reply().set_earliest(now + range.least);
  reply().set_latest(now + range.most);
  return false;
}

// The start if everybody used up their time limits.
bool Explanation::forecast_by_limits(const Job& job) {
  if (reply().start_time() == 0) return false;
  if (!outlook_) {
    sched::ForecastOptions beliefs = core_.history->beliefs();
    beliefs.believed_end = nullptr;
    beliefs.believed_seconds = nullptr;
    outlook_.emplace(core_, std::move(beliefs));
  }
  const auto by_limits = outlook_->start(job);
  if (outlook_->unfinished()) return true;
  outlook_.reset();
  if (by_limits && !by_limits->after_unlimited)
    reply().set_start_by_limits(std::max(core_.now(), by_limits->start));
  return false;
}

// The job of the next unfulfilled dependency that has not been shown; null: there is no more.
const Job* Explanation::next_awaited(const Job& job) {
  while (job.details && next_term_ < static_cast<int>(job.details->dependencies.size())) {
    const Dependency& term = job.details->dependencies[static_cast<size_t>(next_term_++)];
    if (term.status() != DEPENDENCY_UNFULFILLED || term.job_id() == 0) continue;
    const Job* other = term.has_array_task_id() ? core_.state.find_task(term.job_id(), term.array_task_id())
                                                : core_.state.find(term.job_id());
    if (const ArrayGroup* group = core_.state.find_array(term.job_id()); other == nullptr && group != nullptr)
      other = group->jobs.empty() ? nullptr : core_.state.find(*group->jobs.begin());
    if (other == nullptr || std::find(awaited_.begin(), awaited_.end(), other->id) != awaited_.end())
      continue;
    awaited_.push_back(other->id);
    return other;
  }
  return nullptr;
}

bool Explanation::show_awaited_jobs(const Job& job) {
  if (outlook_) {
    const Job* other = core_.state.find(awaited_.back());
    if (other != nullptr && show_awaited(*other)) return true;
    outlook_.reset();
    return awaited_.size() < kShown;
  }
  const Job* other = next_awaited(job);
  if (other == nullptr) return false;
  api::JobInTheWay& shown = *reply().add_jobs();
  shown = describe(*other);
  if (shown.running()) return awaited_.size() < kShown;
  outlook_.emplace(core_, core_.history->beliefs(), starts_left_);
  return true;
}

// When the last job shown will start and end. True: it wants another piece.
bool Explanation::show_awaited(const Job& other) {
  const auto start = outlook_->start(other);
  if (outlook_->unfinished()) return true;
  const auto end = outlook_->end(other);
  if (outlook_->unfinished()) return true;
  api::JobInTheWay& shown = *reply().mutable_jobs(reply().jobs_size() - 1);
  if (start && !start->after_unlimited) shown.set_start_time(std::max(core_.now(), start->start));
  if (end) shown.set_end_time(*end);
  starts_left_ = outlook_->starts_left();
  return false;
}

bool Explanation::show_license_holders(const Job& job) {
  const sched::Request* request = core_.world->request_of(job);
  if (request == nullptr) return false;
  size_t count = 0;
  for (const auto& [end, placement] : core_.world->running().by_end()) {
    const bool holds =
        std::any_of(placement.licenses.begin(), placement.licenses.end(), [&](const auto& held) {
          return std::any_of(request->licenses.begin(), request->licenses.end(),
                             [&](const auto& wanted) { return wanted.license == held.license; });
        });
    const Job* other = holds ? core_.state.find(static_cast<uint32_t>(end.key)) : nullptr;
    if (other == nullptr) continue;
    *reply().add_jobs() = describe(*other);
    if (++count == kShown) break;
  }
  return false;
}

bool Explanation::show_limits(const Job& job) {
  const bool of_qos = reply().job().reason() >= QOS_GRP_CPU;
  reply().set_limit(core_.accounts->limits_in_words(job, of_qos));
  size_t count = 0;
  for (const auto& [end, placement] : core_.world->running().by_end()) {
    const Job* other = core_.state.find(static_cast<uint32_t>(end.key));
    if (other == nullptr || !core_.accounts->limited_together(job, *other, of_qos)) continue;
    *reply().add_jobs() = describe(*other);
    if (++count == kShown) break;
  }
  return false;
}

// What the available nodes of its first partition have free.
std::string Explanation::free_now(const Job& job) const {
  const sched::Machine& machine = core_.world->machine();
  const sched::MachineLayout& layout = machine.layout();
  const auto partition = layout.find_partition(job.submission->partitions.front());
  if (!partition) return "";
  int64_t free_cpus = 0, cpus = 0, free_memory = 0, memory = 0, free_gpus = 0, gpus = 0;
  for (sched::NodeId id = 0; id < layout.nodes().size(); ++id) {
    const sched::LayoutNode& node = layout.nodes()[id];
    if (!layout.partitions()[*partition].members.test(node.rank) || !machine.available(id)) continue;
    free_cpus += std::max<int64_t>(0, machine.free_cpus(id));
    cpus += node.cpus;
    free_memory += std::max<int64_t>(0, machine.free_memory_mib(id));
    memory += static_cast<int64_t>(node.memory_mib);
    for (uint32_t pool = node.first_pool; pool < node.first_pool + node.pool_count; ++pool) {
      if (layout.pools()[pool].name != layout.gpu_name()) continue;
      free_gpus += machine.free_device_count(pool);
      gpus += sched::count_of(layout.pools()[pool].devices);
    }
  }
  const auto of = [](int64_t part, int64_t all) {
    return std::to_string(part) + " of " + std::to_string(all);
  };
  std::string text =
      of(free_cpus, cpus) + " CPUs, " + of(free_memory / 1024, memory / 1024) + " GiB of memory";
  if (gpus > 0) text += ", " + of(free_gpus, gpus) + " GPUs";
  return text;
}

// Counts the jobs that outrank it and wait for their turn like it. Shows those that will not start after it:
// a job before it that starts later does not delay it.
bool Explanation::show_jobs_before(const Job& job) {
  const auto entry = core_.world->entry_of(job);
  if (!entry) return false;
  if (!queue_forecast_) {
    queue_forecast_ = core_.scheduling->forecast();
    return true;
  }
  if (!queue_forecast_->go_on()) return true;
  const sched::WaitReasons reasons = core_.scheduling->wait_reasons();
  std::unordered_map<uint32_t, int64_t> starts;
  for (const auto& expected : queue_forecast_->starts())
    starts.try_emplace(World::job_of_entry(expected.entry), expected.after_unlimited ? 0 : expected.start);
  queue_forecast_.reset();
  const auto before = sched::jobs_before(core_.world->queue(), reasons, *entry, kMostAhead, kMostLooks);
  size_t shown = 0;
  for (const uint32_t id : before) {
    if (shown == kShown) break;
    const Job* other = core_.state.find(id);
    if (other == nullptr) continue;
    const auto start = starts.find(id);
    if (start != starts.end() && reply().start_time() != 0 && start->second > reply().start_time()) continue;
    api::JobInTheWay& added = *reply().add_jobs();
    added = describe(*other);
    if (start != starts.end()) added.set_start_time(start->second);  // 0: unknown
    ++shown;
  }
  reply().set_ahead(static_cast<uint32_t>(before.size()));
  return false;
}

// Shows jobs that run on its future nodes or, if these are unknown, in its partition.
bool Explanation::show_jobs_at(const Job& job) {
  const auto& partitions = job.submission->partitions;
  const auto is_there = [&](const Details& details) {
    if (nodes_.empty())
      return std::find(partitions.begin(), partitions.end(), details.partition) != partitions.end();
    return std::any_of(details.nodes.begin(), details.nodes.end(), [&](const NodeAllocation& node) {
      return std::binary_search(nodes_.begin(), nodes_.end(), node.node());
    });
  };
  std::vector<std::pair<int64_t, const Job*>> by_end;
  for (const auto& [run, placement] : core_.world->running().by_end()) {
    const Job* other = core_.state.find(static_cast<uint32_t>(run.key));
    if (other == nullptr || !other->holds_nodes() || !other->details || !is_there(*other->details)) continue;
    const int64_t end = core_.history->expected_end(*other);
    if (reply().start_time() == 0 || end <= reply().start_time()) by_end.emplace_back(end, other);
  }
  // The job that ends last is the one that it waits for.
  std::sort(by_end.begin(), by_end.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->id < b.second->id;
  });
  for (size_t i = 0; i < std::min(kShown, by_end.size()); ++i)
    *reply().add_jobs() = describe(*by_end[i].second);
  return false;
}

}  // namespace minke::engine
