#include "engine/embedded/explaining.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/history.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/scheduling.h"
#include "model/error.h"
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

const Job* Explaining::find(const rpc::JobSelector& selector, rpc::ExplainJobReply& reply) const {
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

void Explaining::add_unavailable_nodes(const Job& job, rpc::ExplainJobReply& reply) const {
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

rpc::JobInTheWay Explaining::describe(const Job& job) const {
  rpc::JobInTheWay shown;
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
    shown.set_end_time(core_.history->expected_end(job));
    shown.set_limit_end(record.end_time());
  }
  return shown;
}

void Explaining::add_forecast(const Job& job, rpc::ExplainJobReply& reply,
                              std::vector<std::string>& nodes) const {
  const int64_t now = core_.now();
  sched::ForecastOptions beliefs = core_.history->beliefs();
  const auto expected = core_.scheduling->forecast_job(job, beliefs);
  if (!expected) return;
  reply.set_start_time(std::max(now, expected->start));
  for (const sched::NodeShare& share : expected->placement.nodes)
    nodes.push_back(core_.scheduling->machine().layout().nodes()[share.node].name);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  reply.set_start_nodes(text::compress_hostlist(nodes));
  reply.set_runs_of_user(core_.history->runs_of(job.uid));
  reply.set_runs_of_all(core_.history->runs());
  reply.set_judged_forecasts(core_.history->judged());
  if (core_.history->judged() > 0 && expected->start > now) {
    const auto range = core_.history->range(expected->start - now);
    reply.set_earliest(now + range.least);
    reply.set_latest(now + range.most);
  }
  beliefs.believed_end = nullptr;
  beliefs.believed_seconds = nullptr;
  if (const auto by_limits = core_.scheduling->forecast_job(job, beliefs))
    reply.set_start_by_limits(std::max(now, by_limits->start));
}

void Explaining::add_jobs_before(const Job& job, rpc::ExplainJobReply& reply) const {
  const sched::PendingQueue& queue = core_.scheduling->queue();
  const sched::Request* own = core_.scheduling->queued_request(job);
  std::unordered_map<uint32_t, int64_t> starts;
  for (const auto& expected : core_.scheduling->forecast())
    starts.try_emplace(Scheduling::job_of_entry(expected.entry), expected.start);
  std::unordered_set<uint32_t> seen;
  sched::PendingQueue::Cursor cursor(queue);
  while (const auto item = cursor.next()) {
    const uint32_t id = Scheduling::job_of_entry(item->entry.id);
    if (id == job.id || seen.size() >= kMostAhead) break;
    if (queue.request(item->class_id).partition != own->partition || !seen.insert(id).second) continue;
    const Job* other = core_.state.find(id);
    if (other == nullptr || seen.size() > kShown) continue;
    rpc::JobInTheWay& shown = *reply.add_jobs();
    shown = describe(*other);
    if (const auto start = starts.find(id); start != starts.end()) shown.set_start_time(start->second);
  }
  reply.set_ahead(static_cast<uint32_t>(seen.size()));
}

// Those that run on the nodes where it is to start, or where nothing is known of them, in its partition.
void Explaining::add_jobs_at(const Job& job, const std::vector<std::string>& nodes,
                             rpc::ExplainJobReply& reply) const {
  const auto& partitions = job.submission->partitions;
  std::vector<rpc::JobInTheWay> found;
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

void Explaining::explain(const rpc::ExplainJobRequest& request, const Queries::Part& part) {
  const auto inquiry = std::make_shared<Inquiry>();
  rpc::ExplainJobReply& reply = *inquiry->message.mutable_explanation();
  const Job* job = find(request.job(), reply);
  if (job == nullptr || !job->committed || (job->ended() && !job->completing)) {
    set_error(inquiry->message, Error{kInvalidJobId, {}});
    return part(inquiry->message, true);
  }
  inquiry->job_id = job->id;
  inquiry->part = part;
  reply.set_now(core_.now());
  *reply.mutable_job() = queries_.full_record(*job);
  reply.mutable_job()->set_reason(core_.scheduling->reason_of(core_.scheduling->wait_reasons(), *job));
  if (job->holds_nodes()) {
    reply.set_end_time(core_.history->expected_end(*job));
    reply.set_runs_of_user(core_.history->runs_of(job->uid));
    reply.set_runs_of_all(core_.history->runs());
    return part(inquiry->message, true);
  }
  add_unavailable_nodes(*job, reply);
  const Job* asked = job;
  if (job->het_job_id != 0 && !job->is_het_leader()) job = core_.state.find(job->het_job_id);
  if (job == nullptr || !job->queued) {
    if (asked->details) reply.set_never(asked->details->reason_detail);
    return part(inquiry->message, true);
  }
  inquiry->job_id = job->id;
  std::vector<std::string> nodes;
  add_forecast(*job, reply, nodes);
  add_jobs_before(*job, reply);
  add_jobs_at(*job, nodes, reply);
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
  rpc::ExplainJobReply& reply = *inquiry->message.mutable_explanation();
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
      const sched::Request* own = core_.scheduling->queued_request(*job);
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
  if (expected && (inquiry->best == 0 || expected->start <= worth_it(inquiry->best, now))) {
    const int64_t start = std::max(now, expected->start);
    rpc::SmallerRequest& smaller = *reply.add_smaller();
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
