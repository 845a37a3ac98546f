#include "engine/slurm/explanation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/explanation.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/answers/smaller_requests.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "sched/world.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "text/list.h"

namespace minke::engine::slurm {
namespace {

using namespace model;
using Trust = sched::World::Trust;

constexpr size_t kShown = 8;  // jobs of each sort
constexpr size_t kLeastTries = 5, kMostTries = 20;
constexpr size_t kNodesTried = 50'000;  // in all tries together: each is a forecast on a copy of the machine
constexpr int kMostSmaller = 6, kOfOneKind = 2;
constexpr int64_t kLeastGain = 60;  // s

const JobRecord* find(const sched::World& world, const api::JobSelector& asked, api::ExplainJobReply& reply) {
  if (asked.tasks_size() > 0) {
    const uint32_t index = asked.tasks(0).first();
    const JobRecord* task = world.find_task(asked.job_id(), index);
    if (task != nullptr && !task->has_array_task_id())
      reply.set_task(std::to_string(asked.job_id()) + "_" + std::to_string(index));
    return task;
  }
  return world.find(asked.job_id() + (asked.has_het_offset() ? asked.het_offset() : 0));
}

api::JobInTheWay describe(const sched::World& world, const JobRecord& job) {
  api::JobInTheWay shown;
  shown.set_job_id(job.job_id());
  shown.set_array_job_id(job.array_job_id());
  if (job.has_array_task_id()) shown.set_array_task_id(job.array_task_id());
  shown.set_user(job.user_name());
  shown.set_priority(job.priority());
  shown.set_num_nodes(job.num_nodes());
  shown.set_num_cpus(job.num_cpus());
  shown.set_num_gpus(static_cast<uint32_t>(text::gpus_in(job.tres_gres())));
  shown.set_node_list(job.node_list());
  shown.set_partition(job.partition());
  if (const auto end = world.end_of(job.job_id())) {
    shown.set_running(true);
    shown.set_end_time(end->expected);
    shown.set_limit_end(end->limit);
  }
  return shown;
}

void add_jobs_before(const sched::World& world, uint32_t job_id, api::ExplainJobReply& reply) {
  const std::vector<uint32_t> before = world.jobs_before(job_id);
  reply.set_ahead(static_cast<uint32_t>(before.size()));
  if (before.empty()) return;
  std::unordered_map<sched::EntryId, int64_t> starts;
  for (const sched::ExpectedStart& one : world.forecast())
    starts.try_emplace(one.entry, one.after_unlimited ? 0 : one.start);
  size_t shown = 0;
  for (const uint32_t id : before) {
    const JobRecord* other = world.find(id);
    const auto entry = world.entry(id);
    const auto start = entry ? starts.find(*entry) : starts.end();
    // What is before it and starts later does not hold it up.
    const bool later = start != starts.end() && reply.start_time() != 0 && start->second > reply.start_time();
    if (other == nullptr || later) continue;
    api::JobInTheWay& added = *reply.add_jobs();
    added = describe(world, *other);
    if (start != starts.end()) added.set_start_time(start->second);
    if (++shown == kShown) return;
  }
}

// Those that run where it is to start. What ends last is what it waits for.
void add_jobs_at(const sched::World& world, const std::vector<std::string>& nodes,
                 api::ExplainJobReply& reply) {
  if (nodes.empty()) return;
  std::vector<sched::World::End> ends = world.ends(nodes);
  std::erase_if(ends, [&](const auto& end) {
    return end.expected == 0 || (reply.start_time() != 0 && end.expected > reply.start_time());
  });
  std::reverse(ends.begin(), ends.end());
  for (size_t i = 0; i < std::min(kShown, ends.size()); ++i) {
    if (const JobRecord* other = world.find(ends[i].job_id)) *reply.add_jobs() = describe(world, *other);
  }
}

void add_smaller(const sched::World& world, const JobRecord& job, api::ExplainJobReply& reply) {
  const bool starts_now = reply.start_time() != 0 && reply.start_time() <= reply.now();
  if (job.het_job_id() != 0 || starts_now) return;
  const auto choices =
      smaller_requests(job.spec(), job.time_limit_minutes(), text::split_list(job.partition()), {});
  const size_t nodes = std::max<size_t>(1, world.machine().layout().nodes().size());
  const size_t most_tries = std::clamp(kNodesTried / nodes, kLeastTries, kMostTries);
  int kind = -1, found = 0;
  size_t tries = 0;
  int64_t best = 0;
  for (const SmallerRequestChoice& choice : choices) {
    if (choice.kind != kind) {
      kind = choice.kind;
      found = 0;
      best = reply.start_time();
    }
    if (found == kOfOneKind || (best != 0 && best <= reply.now())) continue;
    if (tries++ == most_tries || reply.smaller_size() == kMostSmaller) return;
    JobSpec spec = choice.spec;
    spec.set_time_limit_minutes(choice.time_limit_minutes);
    const auto start = world.start_if(job.job_id(), spec);
    if (!start || !*start || (*start)->after_unlimited) continue;
    const int64_t least_gain = std::max(kLeastGain, (best - reply.now()) / 10);
    if (best != 0 && (*start)->start > best - least_gain) continue;
    best = std::max(reply.now(), (*start)->start);
    ++found;
    api::SmallerRequest& smaller = *reply.add_smaller();
    smaller.set_options(choice.options);
    smaller.set_instead_of(choice.instead_of);
    smaller.set_start_time(best);
  }
}

// The nodes where it is to start.
std::vector<std::string> expect_start(const sched::World& world, uint32_t job_id,
                                      api::ExplainJobReply& reply) {
  std::vector<std::string> nodes;
  const auto expected = world.start_of(job_id);
  if (!expected) return nodes;
  reply.set_after_unlimited(expected->after_unlimited);
  if (expected->after_unlimited) return nodes;
  reply.set_start_time(std::max(world.now(), expected->start));
  for (const sched::NodeShare& share : expected->placement.nodes)
    nodes.push_back(world.machine().layout().nodes()[share.node].name);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  reply.set_start_nodes(text::compress_hostlist_sorted(nodes));
  const auto by_limits = world.start_of(job_id, Trust::kLimits);
  if (by_limits && !by_limits->after_unlimited)
    reply.set_start_by_limits(std::max(world.now(), by_limits->start));
  return nodes;
}

bool takes_jobs(const NodeRecord& node) {
  return node.state() == NODE_IDLE;
}

std::string of(uint64_t part, uint64_t all) {
  return std::to_string(part) + " of " + std::to_string(all);
}

}  // namespace

bool explain(const sched::World& world, const api::JobSelector& asked, api::ExplainJobReply& reply) {
  const JobRecord* job = find(world, asked, reply);
  if (job == nullptr) return false;
  reply.set_now(world.now());
  *reply.mutable_job() = *job;
  for (const std::string& note : world.notes()) reply.add_notes(note);
  reply.set_runs_of_user(world.beliefs().runs_of(job->uid()));
  reply.set_runs_of_all(world.beliefs().runs());
  if (const auto end = world.end_of(job->job_id())) {
    reply.set_end_time(end->expected);
    return true;
  }
  const std::vector<std::string> nodes = expect_start(world, job->job_id(), reply);
  if (const auto* obstacle = world.obstacle(job->job_id()); obstacle != nullptr)
    reply.set_never(obstacle->detail);
  if (!world.entry(job->job_id())) return true;
  add_jobs_before(world, job->job_id(), reply);
  if (const uint32_t foreseen = world.options().max_entries; reply.ahead() > foreseen)
    reply.add_notes("the forecast follows the first " + std::to_string(foreseen) +
                    " jobs of the queue; others stand between them and this one, so that it may start later");
  add_jobs_at(world, nodes, reply);
  add_smaller(world, *job, reply);
  return true;
}

void explain_nodes(const std::vector<NodeRecord>& nodes, const std::vector<PartitionRecord>& partitions,
                   api::ExplainJobReply& reply) {
  if (reply.job().state() != JOB_PENDING) return;
  std::unordered_set<std::string> members, first;
  const std::vector<std::string> wanted = text::split_list(reply.job().partition());
  for (const PartitionRecord& partition : partitions) {
    const auto place = std::find(wanted.begin(), wanted.end(), partition.name());
    const auto names = text::expand_hostlist(partition.nodes());
    if (place == wanted.end() || !names) continue;
    members.insert(names->begin(), names->end());
    if (place == wanted.begin()) first.insert(names->begin(), names->end());
  }
  uint64_t free_cpus = 0, cpus = 0, free_mib = 0, mib = 0, free_gpus = 0, gpus = 0;
  for (const NodeRecord& node : nodes) {
    if (!takes_jobs(node)) {
      if (!members.contains(node.name()) || static_cast<size_t>(reply.unavailable_nodes_size()) == kShown)
        continue;
      const bool down = node.state() == NODE_DOWN || node.state() == NODE_DOWN_DRAIN;
      reply.add_unavailable_nodes(node.name() + ": " + (down ? "down" : "drained") +
                                  (node.reason().empty() ? "" : " (" + node.reason() + ")"));
      continue;
    }
    if (!first.contains(node.name())) continue;
    cpus += node.cpus();
    mib += node.memory_mib();
    free_cpus += node.cpus() - std::min(node.cpus(), node.allocated_cpus());
    free_mib += node.memory_mib() - std::min(node.memory_mib(), node.allocated_memory_mib());
    const uint64_t own = text::gpus_in(node.gres());
    gpus += own;
    free_gpus += own - std::min(own, text::gpus_in(node.allocated_gres()));
  }
  std::string text = of(free_cpus, cpus) + " CPUs, " + of(free_mib / 1024, mib / 1024) + " GiB of memory";
  if (gpus > 0) text += ", " + of(free_gpus, gpus) + " GPUs";
  reply.set_free_now(text);
}

}  // namespace minke::engine::slurm
