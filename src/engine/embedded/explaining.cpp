#include "engine/embedded/explaining.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "api/explanation.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/history.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/outlook.h"
#include "engine/embedded/scheduling.h"
#include "engine/embedded/world.h"
#include "model/error.h"
#include "rpc/messages.pb.h"
#include "text/hostlist.h"
#include "text/state.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kShown = 8;            // jobs of each sort
constexpr uint32_t kMostAhead = 10000;  // counted
constexpr size_t kMostSmaller = 6;
constexpr size_t kOfOneKind = 2;
constexpr int64_t kLeastGain = 60;  // s

bool of_limits(StateReason reason) {
  return reason >= ASSOC_GRP_CPU;
}

int64_t worth_it(int64_t start, int64_t now) {
  return start - std::max(kLeastGain, (start - now) / 10);
}

}  // namespace

struct Explaining::Inquiry {
  uint32_t job_id = 0;
  Queries::Part part;
  rpc::ServerMessage message;
  std::vector<SmallerRequestChoice> choices;
  size_t next = 0;
  int kind = 0;
  size_t found = 0;      // of this kind
  int64_t best = 0;      // start with what was found of this kind; 0: nobody knows
  bool at_once = false;  // one of this kind starts now: a smaller one would not do better
};

const Job* Explaining::find(const api::JobSelector& selector, api::ExplainJobReply& reply) const {
  uint32_t id = selector.job_id();
  if (selector.has_het_offset()) id += selector.het_offset();
  if (selector.tasks_size() > 0) {
    const uint32_t index = selector.tasks(0).first();
    const Job* task = core_.state.find_task(selector.job_id(), index);
    if (task != nullptr && task->array)
      reply.set_task(std::to_string(selector.job_id()) + "_" + std::to_string(index));
    return task;
  }
  if (const Job* job = core_.state.find(id)) return job;
  const ArrayGroup* group = core_.state.find_array(id);
  return group == nullptr || group->jobs.empty() ? nullptr : core_.state.find(*group->jobs.begin());
}

void Explaining::add_unavailable_nodes(const Job& job, api::ExplainJobReply& reply) const {
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
    reply.add_unavailable_nodes(line);
    if (static_cast<size_t>(reply.unavailable_nodes_size()) == kShown) break;
  }
}

api::JobInTheWay Explaining::describe(const Job& job) const {
  api::JobInTheWay shown;
  const JobRecord record = queries_.full_record(job);
  shown.set_job_id(job.id);
  shown.set_array_job_id(job.array_job_id);
  if (job.array_task != kNoTask) shown.set_array_task_id(job.array_task);
  shown.set_user(record.user_name());
  shown.set_priority(job.priority);
  shown.set_num_nodes(record.num_nodes());
  shown.set_num_cpus(record.num_cpus());
  uint32_t gpus = 0;
  for (const Gres& gres : record.tres_gres()) gpus += gres.name() == "gpu" ? gres.count() : 0;
  shown.set_num_gpus(gpus);
  shown.set_node_list(record.node_list());
  shown.set_partition(record.partition());
  if (job.holds_nodes()) {
    shown.set_running(true);
    if (core_.history->knows_end(job)) shown.set_end_time(core_.history->expected_end(job));
    shown.set_limit_end(record.end_time());
  }
  return shown;
}

void Explaining::add_forecast(const Job& job, api::ExplainJobReply& reply,
                              std::vector<std::string>& nodes) const {
  const int64_t now = core_.now();
  sched::ForecastOptions beliefs = core_.history->beliefs();
  const auto expected = Outlook(core_, beliefs).start(job);
  if (!expected) return;
  reply.set_runs_of_user(core_.history->runs_of(job.uid));
  reply.set_runs_of_all(core_.history->runs());
  reply.set_after_unlimited(expected->after_unlimited);
  if (expected->after_unlimited) return;
  reply.set_start_time(std::max(now, expected->start));
  for (const sched::NodeShare& share : expected->placement.nodes)
    nodes.push_back(core_.world->machine().layout().nodes()[share.node].name);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  reply.set_start_nodes(text::compress_hostlist(nodes));
  reply.set_judged_forecasts(core_.history->judged());
  if (core_.history->judged() > 0 && expected->start > now) {
    const auto range = core_.history->range(expected->start - now);
    reply.set_earliest(now + range.least);
    reply.set_latest(now + range.most);
  }
  beliefs.believed_end = nullptr;
  beliefs.believed_seconds = nullptr;
  if (const auto by_limits = Outlook(core_, beliefs).start(job); by_limits && !by_limits->after_unlimited)
    reply.set_start_by_limits(std::max(now, by_limits->start));
}

void Explaining::add_awaited_jobs(const Job& job, api::ExplainJobReply& reply) const {
  if (!job.details) return;
  sched::ForecastOptions beliefs = core_.history->beliefs();
  Outlook outlook(core_, beliefs);
  std::unordered_set<uint32_t> seen;
  for (const Dependency& term : job.details->dependencies) {
    if (term.status() != DEPENDENCY_UNFULFILLED || term.job_id() == 0) continue;
    const Job* other = term.has_array_task_id() ? core_.state.find_task(term.job_id(), term.array_task_id())
                                                : core_.state.find(term.job_id());
    if (const ArrayGroup* group = core_.state.find_array(term.job_id()); other == nullptr && group != nullptr)
      other = group->jobs.empty() ? nullptr : core_.state.find(*group->jobs.begin());
    if (other == nullptr || !seen.insert(other->id).second || seen.size() > kShown) continue;
    api::JobInTheWay& shown = *reply.add_jobs();
    shown = describe(*other);
    if (shown.running()) continue;
    if (const auto start = outlook.start(*other); start && !start->after_unlimited)
      shown.set_start_time(std::max(core_.now(), start->start));
    if (const auto end = outlook.end(*other)) shown.set_end_time(*end);
  }
}

void Explaining::add_license_holders(const Job& job, api::ExplainJobReply& reply) const {
  const sched::Request* request = core_.world->request_of(job);
  if (request == nullptr) return;
  size_t count = 0;
  for (const auto& [end, placement] : core_.world->running().by_end()) {
    const bool holds =
        std::any_of(placement.licenses.begin(), placement.licenses.end(), [&](const auto& held) {
          return std::any_of(request->licenses.begin(), request->licenses.end(),
                             [&](const auto& wanted) { return wanted.license == held.license; });
        });
    const Job* other = holds ? core_.state.find(static_cast<uint32_t>(end.key)) : nullptr;
    if (other == nullptr) continue;
    *reply.add_jobs() = describe(*other);
    if (++count == kShown) return;
  }
}

void Explaining::add_limits(const Job& job, api::ExplainJobReply& reply) const {
  const bool of_qos = reply.job().reason() >= QOS_GRP_CPU;
  reply.set_limit(core_.accounts->limits_in_words(job, of_qos));
  size_t count = 0;
  for (const auto& [end, placement] : core_.world->running().by_end()) {
    const Job* other = core_.state.find(static_cast<uint32_t>(end.key));
    if (other == nullptr || !core_.accounts->limited_together(job, *other, of_qos)) continue;
    *reply.add_jobs() = describe(*other);
    if (++count == kShown) return;
  }
}

// Of the first of its partitions, what nodes that are available have.
std::string Explaining::free_now(const Job& job) const {
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
      gpus += std::popcount(layout.pools()[pool].devices);
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

// Those that outrank it and wait for their turn as it does; shown are those that are not to start after it:
// what is before it and starts later does not hold it up.
void Explaining::add_jobs_before(const Job& job, api::ExplainJobReply& reply) const {
  const sched::PendingQueue& queue = core_.world->queue();
  const sched::WaitReasons reasons = core_.scheduling->wait_reasons();
  const sched::Request* own = core_.world->request_of(job);
  std::unordered_map<uint32_t, int64_t> starts;
  for (const auto& expected : core_.scheduling->forecast())
    starts.try_emplace(World::job_of_entry(expected.entry), expected.after_unlimited ? 0 : expected.start);
  std::unordered_set<uint32_t> seen;
  size_t shown = 0;
  sched::PendingQueue::Cursor cursor(queue);
  while (const auto item = cursor.next()) {
    const uint32_t id = World::job_of_entry(item->entry.id);
    if (id == job.id || seen.size() >= kMostAhead) break;
    if (queue.request(item->class_id).partition != own->partition) continue;
    const StateReason reason = reasons.of(item->entry.id);
    if (reason != WAIT_RESOURCES && reason != WAIT_PRIORITY) continue;
    if (!seen.insert(id).second) continue;
    const Job* other = core_.state.find(id);
    if (other == nullptr || shown == kShown) continue;
    const auto start = starts.find(id);
    if (start != starts.end() && reply.start_time() != 0 && start->second > reply.start_time()) continue;
    api::JobInTheWay& added = *reply.add_jobs();
    added = describe(*other);
    if (start != starts.end()) added.set_start_time(start->second);  // 0: nobody knows
    ++shown;
  }
  reply.set_ahead(static_cast<uint32_t>(seen.size()));
}

// Those that run on the nodes where it is to start, or where nothing is known of them, in its partition.
void Explaining::add_jobs_at(const Job& job, const std::vector<std::string>& nodes,
                             api::ExplainJobReply& reply) const {
  const auto& partitions = job.submission->partitions;
  std::vector<api::JobInTheWay> found;
  std::vector<std::pair<int64_t, const Job*>> by_end;
  for (const auto& [id, other] : core_.state.jobs()) {
    if (!other->holds_nodes() || !other->details) continue;
    const bool there =
        nodes.empty()
            ? std::find(partitions.begin(), partitions.end(), other->details->partition) != partitions.end()
            : std::any_of(other->details->nodes.begin(), other->details->nodes.end(), [&](const auto& node) {
                return std::binary_search(nodes.begin(), nodes.end(), node.node());
              });
    if (!there) continue;
    const int64_t end = core_.history->expected_end(*other);
    if (reply.start_time() == 0 || end <= reply.start_time()) by_end.emplace_back(end, other.get());
  }
  // What ends last is what it waits for.
  std::sort(by_end.begin(), by_end.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->id < b.second->id;
  });
  for (size_t i = 0; i < std::min(kShown, by_end.size()); ++i)
    *reply.add_jobs() = describe(*by_end[i].second);
}

void Explaining::explain(const api::ExplainJobRequest& request, const Queries::Part& part) {
  const auto inquiry = std::make_shared<Inquiry>();
  api::ExplainJobReply& reply = *inquiry->message.mutable_explanation();
  const Job* job = find(request.job(), reply);
  if (job == nullptr || !job->committed || (job->ended() && !job->completing)) {
    set_error(inquiry->message, Error{kInvalidJobId, {}});
    return part(inquiry->message, true);
  }
  inquiry->job_id = job->id;
  inquiry->part = part;
  reply.set_now(core_.now());
  *reply.mutable_job() = queries_.full_record(*job);
  const sched::WaitReasons reasons = core_.scheduling->wait_reasons();
  reply.mutable_job()->set_reason(core_.scheduling->reason_of(reasons, *job));
  if (std::string more = core_.scheduling->reason_detail_of(reasons, *job); !more.empty())
    reply.mutable_job()->set_reason_detail(std::move(more));
  if (job->holds_nodes()) {
    if (core_.history->knows_end(*job)) reply.set_end_time(core_.history->expected_end(*job));
    reply.set_runs_of_user(core_.history->runs_of(job->uid));
    reply.set_runs_of_all(core_.history->runs());
    return part(inquiry->message, true);
  }
  add_unavailable_nodes(*job, reply);
  const Job* asked = job;
  if (job->het_job_id != 0 && !job->is_het_leader()) job = core_.state.find(job->het_job_id);
  std::vector<std::string> nodes;
  if (job == nullptr || !job->queued) {
    if (asked->details) reply.set_never(asked->details->reason_detail);
    if (job == nullptr) return part(inquiry->message, true);
    if (job->reason == WAIT_DEPENDENCY) add_awaited_jobs(*job, reply);
    add_forecast(*job, reply, nodes);
    return part(inquiry->message, true);
  }
  inquiry->job_id = job->id;
  reply.set_free_now(free_now(*job));
  add_forecast(*job, reply, nodes);
  if (reply.job().reason() == WAIT_LICENSES) {
    add_license_holders(*job, reply);
  } else if (of_limits(reply.job().reason())) {
    add_limits(*job, reply);
  } else {
    add_jobs_before(*job, reply);
    add_jobs_at(*job, nodes, reply);
  }
  if (job->het_job_id == 0 && (reply.start_time() == 0 || reply.start_time() > reply.now())) {
    JobSpec spec = job->submission->spec();
    std::vector<std::string> others;
    for (const PartitionRecord& partition : core_.nodes->partitions()) {
      const auto& own = job->submission->partitions;
      if (!is_scheduled(partition) || std::find(own.begin(), own.end(), partition.name()) != own.end())
        continue;
      JobSpec elsewhere = spec;
      elsewhere.set_partition(partition.name());
      if (core_.nodes->choose_partitions(elsewhere, job->uid)) others.push_back(partition.name());
    }
    inquiry->choices = smaller_requests(spec, job->time_limit_minutes, job->submission->partitions, others);
  }
  try_next(inquiry);
}

void Explaining::try_next(const std::shared_ptr<Inquiry>& inquiry) {
  api::ExplainJobReply& reply = *inquiry->message.mutable_explanation();
  const Job* job = core_.state.find(inquiry->job_id);
  // It may have started meanwhile: what has been found still holds of the moment it was asked.
  const bool waits = job != nullptr && job->queued;
  std::optional<sched::Request> request;
  const SmallerRequestChoice* choice = nullptr;
  while (waits && !request && inquiry->next < inquiry->choices.size()) {
    choice = &inquiry->choices[inquiry->next++];
    if (choice->kind != inquiry->kind) {
      inquiry->kind = choice->kind;
      inquiry->found = 0;
      inquiry->at_once = false;
      inquiry->best = reply.start_time();
    }
    if (inquiry->at_once || inquiry->found >= kOfOneKind) continue;
    for (const std::string& partition : choice->partitions) {
      auto made = core_.scheduling->request_for(choice->spec, partition, choice->time_limit_minutes);
      if (!made) continue;
      core_.scheduling->apply_limits(*job, choice->spec, *made);
      const sched::Request* own = core_.world->request_of(*job);
      if (own != nullptr && *made == *own) continue;
      request = std::move(*made);
      break;
    }
  }
  if (!request) {
    auto& smaller = *reply.mutable_smaller();
    std::stable_sort(smaller.begin(), smaller.end(),
                     [](const auto& a, const auto& b) { return a.start_time() < b.start_time(); });
    while (static_cast<size_t>(smaller.size()) > kMostSmaller) smaller.RemoveLast();
    return inquiry->part(inquiry->message, true);
  }
  const int64_t now = core_.now();
  const auto expected = core_.scheduling->forecast_changed(*job, *request);
  if (expected && !expected->after_unlimited &&
      (inquiry->best == 0 || expected->start <= worth_it(inquiry->best, now))) {
    const int64_t start = std::max(now, expected->start);
    api::SmallerRequest& smaller = *reply.add_smaller();
    smaller.set_options(choice->options);
    smaller.set_instead_of(choice->instead_of);
    smaller.set_start_time(start);
    inquiry->best = start;
    inquiry->at_once = start <= now;
    ++inquiry->found;
  }
  core_.loop.post([this, inquiry] { try_next(inquiry); });
}

}  // namespace minke::engine
