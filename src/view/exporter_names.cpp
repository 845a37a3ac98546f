#include "view/exporter_names.h"

#include <algorithm>
#include <map>

#include "text/gres_count.h"
#include "text/hostlist.h"
#include "view/metrics_text.h"
#include "view/node_text.h"

namespace minke::view {
namespace {

struct Holding {
  double allocated = 0, idle = 0, other = 0, total = 0;
};

// What can be had of a node: free means that a job could get it, "other" that nobody can.
void add_holding(const model::NodeRecord& node, uint64_t all, uint64_t held, Holding& sum) {
  const ShownNodeState state = shown_state(node);
  const auto rest = static_cast<double>(all - std::min(all, held));
  const bool takes_jobs = state.base != NodeBaseState::kDown && !state.drain && !state.fail;
  sum.allocated += static_cast<double>(held);
  (takes_jobs ? sum.idle : sum.other) += rest;
  sum.total += static_cast<double>(all);
}

void add_queue(const MetricsFacts& facts, const AddMetric& add) {
  std::map<std::string, double> states = {
      {"pending", 0}, {"running", 0}, {"suspended", 0}, {"cancelled", 0}, {"completed", 0},
      {"failed", 0},  {"timeout", 0}, {"preempted", 0}, {"node_fail", 0}, {"completing", 0}};
  const std::map<model::JobState, const char*> words = {
      {model::JOB_PENDING, "pending"},     {model::JOB_RUNNING, "running"},
      {model::JOB_SUSPENDED, "suspended"}, {model::JOB_CANCELLED, "cancelled"},
      {model::JOB_COMPLETE, "completed"},  {model::JOB_FAILED, "failed"},
      {model::JOB_TIMEOUT, "timeout"},     {model::JOB_PREEMPTED, "preempted"},
      {model::JOB_NODE_FAIL, "node_fail"}};
  for (const api::JobCount& count : facts.measured.counts()) {
    const auto jobs = static_cast<double>(count.jobs());
    if (const auto word = words.find(count.state()); word != words.end()) states[word->second] += jobs;
    if (count.completing()) states["completing"] += jobs;
  }
  for (const auto& [state, jobs] : states)
    add("slurm_queue_" + state, "Jobs of the queue in this state", {}, jobs);
}

void add_cluster(const MetricsFacts& facts, const AddMetric& add) {
  Holding cpus, gpus;
  double mixed = 0, completing = 0;
  for (const model::NodeRecord& node : facts.nodes) {
    add_holding(node, node.cpus(), node.allocated_cpus(), cpus);
    add_holding(node, text::gpus_in(node.gres()), text::gpus_in(node.allocated_gres()), gpus);
    const ShownNodeState state = shown_state(node);
    mixed += state.base == NodeBaseState::kMixed;
    const MetricLabels labels = {{"node", node.name()},
                                 {"status", std::string(state_long(sinfo_state(node)))}};
    Holding own;
    add_holding(node, node.cpus(), node.allocated_cpus(), own);
    add("slurm_node_cpu_alloc", "CPUs allocated on the node", labels, own.allocated);
    add("slurm_node_cpu_idle", "CPUs that a job could get on the node", labels, own.idle);
    add("slurm_node_cpu_other", "CPUs of the node that nobody can get", labels, own.other);
    add("slurm_node_cpu_total", "CPUs of the node", labels, own.total);
    add("slurm_node_mem_alloc", "Memory allocated on the node, MiB", labels,
        static_cast<double>(node.allocated_memory_mib()));
    add("slurm_node_mem_total", "Memory of the node, MiB", labels, static_cast<double>(node.memory_mib()));
  }
  for (const api::JobCount& count : facts.measured.counts())
    completing += count.completing() ? static_cast<double>(count.nodes()) : 0;
  add("slurm_nodes_mix", "Nodes that are allocated in part", {}, mixed);
  add("slurm_nodes_comp", "Nodes that are being cleared of jobs", {}, completing);
  add("slurm_nodes_err", "Nodes in an error", {}, 0);
  for (const auto& [name, sum] : {std::pair("cpus", &cpus), std::pair("gpus", &gpus)}) {
    const std::string prefix = std::string("slurm_") + name;
    add(prefix + "_alloc", "Allocated", {}, sum->allocated);
    add(prefix + "_idle", "That a job could get", {}, sum->idle);
    add(prefix + "_other", "That nobody can get", {}, sum->other);
    add(prefix + "_total", "In all", {}, sum->total);
  }
  add("slurm_gpus_utilization", "Share of the GPUs that is allocated", {},
      gpus.total > 0 ? gpus.allocated / gpus.total : 0);
}

void add_of_partitions(const MetricsFacts& facts, const AddMetric& add) {
  for (const model::PartitionRecord& partition : facts.partitions) {
    const auto names = text::expand_hostlist(partition.nodes());
    Holding cpus;
    for (const model::NodeRecord& node : facts.nodes)
      if (names && std::find(names->begin(), names->end(), node.name()) != names->end())
        add_holding(node, node.cpus(), node.allocated_cpus(), cpus);
    const MetricLabels labels = {{"partition", partition.name()}};
    add("slurm_partition_cpus_allocated", "CPUs allocated in the partition", labels, cpus.allocated);
    add("slurm_partition_cpus_idle", "CPUs that a job could get in the partition", labels, cpus.idle);
    add("slurm_partition_cpus_other", "CPUs of the partition that nobody can get", labels, cpus.other);
    add("slurm_partition_cpus_total", "CPUs of the partition", labels, cpus.total);
  }
}

void add_of_people(const MetricsFacts& facts, const AddMetric& add) {
  std::map<std::string, double> users, accounts;
  for (const api::JobCount& count : facts.measured.counts()) {
    const double cpus = count.state() == model::JOB_RUNNING ? static_cast<double>(count.cpus()) : 0;
    users[count.user()] += cpus;
    if (!count.account().empty()) accounts[count.account()] += cpus;
  }
  for (const auto& [name, cpus] : users)
    add("slurm_user_cpus_running", "CPUs of a user's running jobs", {{"user", name}}, cpus);
  for (const auto& [name, cpus] : accounts)
    add("slurm_account_cpus_running", "CPUs of an account's running jobs", {{"account", name}}, cpus);
}

void add_cycles(const std::string& prefix, const api::CycleStatistics& cycles, const AddMetric& add) {
  const auto count = static_cast<double>(std::max<uint64_t>(cycles.count(), 1));
  add(prefix + "_last_cycle", "Time of the last pass, µs", {}, static_cast<double>(cycles.last_time()));
  add(prefix + "_mean_cycle", "Mean time of a pass, µs", {},
      static_cast<double>(cycles.total_time()) / count);
}

void add_passes(const MetricsFacts& facts, const AddMetric& add) {
  const api::DiagnosticsReply& seen = facts.diagnostics;
  const auto minutes = static_cast<double>(std::max<int64_t>(seen.now() - seen.since(), 1)) / 60;
  add_cycles("slurm_scheduler", seen.passes(), add);
  add("slurm_scheduler_cycle_per_minute", "Passes in a minute", {},
      static_cast<double>(seen.passes().count()) / minutes);
  add("slurm_scheduler_queue_size", "Jobs that the last pass tried", {},
      static_cast<double>(seen.passes().last_queue_length()));
  add("slurm_scheduler_threads", "Connections of clients", {}, seen.connections());
  add("slurm_scheduler_dbd_queue_size", "Messages that wait for slurmdbd, which there is none", {}, 0);
  add_cycles("slurm_scheduler_backfill", seen.backfill_passes(), add);
  const auto count = static_cast<double>(std::max<uint64_t>(seen.backfill_passes().count(), 1));
  add("slurm_scheduler_backfill_depth_mean", "Jobs that a backfill pass tried", {},
      static_cast<double>(seen.backfill_passes().total_depth()) / count);
  add("slurm_scheduler_backfilled_jobs_since_start_total", "Jobs started by backfill since the start", {},
      static_cast<double>(seen.backfilled_since_start()));
  add("slurm_scheduler_backfilled_jobs_since_cycle_total", "Jobs started by backfill since the last reset",
      {}, static_cast<double>(seen.backfilled()));
}

}  // namespace

void add_exporter_names(const MetricsFacts& facts, const AddMetric& add) {
  add_queue(facts, add);
  add_cluster(facts, add);
  add_of_partitions(facts, add);
  add_of_people(facts, add);
  add_passes(facts, add);
}

}  // namespace minke::view
