#include "view/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "api/diagnostics.pb.h"
#include "api/measurements.pb.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/measurement.pb.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "view/exporter_names.h"
#include "view/gpu_parts.h"
#include "view/node_text.h"

namespace minke::view {

namespace {

using Labels = MetricLabels;

// All samples of one metric are together, below its description.
class Text {
 public:
  void add(const std::string& name, std::string_view help, const Labels& labels, double value,
           std::string_view type = "gauge") {
    std::string& block = block_of(name, help, type);
    block += name;
    const char* separator = "{";
    for (const auto& [label, content] : labels) {
      fmt::format_to(std::back_inserter(block), "{}{}=\"", separator, label);
      for (const char c : content) {
        if (c == '\\' || c == '"') block += '\\';
        c == '\n' ? block += "\\n" : block += c;
      }
      block += '"';
      separator = ",";
    }
    if (!labels.empty()) block += '}';
    fmt::format_to(std::back_inserter(block), " {}\n", value);
  }
  std::string take() const {
    std::string all;
    for (const std::string& name : order_) all += blocks_.at(name);
    return all;
  }

 private:
  std::string& block_of(const std::string& name, std::string_view help, std::string_view type) {
    const auto [block, is_new] = blocks_.try_emplace(name);
    if (is_new) {
      order_.push_back(name);
      block->second = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
    }
    return block->second;
  }
  std::vector<std::string> order_;
  std::map<std::string, std::string> blocks_;
};

const char* word_of(model::JobState state) {
  switch (state) {
    case model::JOB_PENDING:
      return "pending";
    case model::JOB_RUNNING:
      return "running";
    case model::JOB_SUSPENDED:
      return "suspended";
    case model::JOB_COMPLETE:
      return "completed";
    case model::JOB_CANCELLED:
      return "cancelled";
    case model::JOB_FAILED:
      return "failed";
    case model::JOB_TIMEOUT:
      return "timeout";
    case model::JOB_NODE_FAIL:
      return "node_failed";
    case model::JOB_PREEMPTED:
      return "preempted";
    case model::JOB_BOOT_FAIL:
      return "bootfail";
    case model::JOB_DEADLINE:
      return "deadline";
    case model::JOB_OOM:
      return "outofmemory";
    default:
      return "requeued";
  }
}

// Adds jobs by state, and their resources, with this prefix and these labels. Every state appears, also at 0.
void add_jobs(Text& text, const MetricsFacts& facts, const std::string& prefix, const Labels& labels,
              const std::function<bool(const api::JobCount&)>& counts) {
  std::map<std::string, double> states;
  for (const model::JobState state :
       {model::JOB_PENDING, model::JOB_RUNNING, model::JOB_SUSPENDED, model::JOB_COMPLETE,
        model::JOB_CANCELLED, model::JOB_FAILED, model::JOB_TIMEOUT, model::JOB_NODE_FAIL,
        model::JOB_PREEMPTED, model::JOB_BOOT_FAIL, model::JOB_DEADLINE, model::JOB_OOM})
    states[word_of(state)] = 0;
  double jobs = 0, completing = 0, held = 0, cpus = 0, memory = 0, nodes = 0, gpus = 0;
  for (const api::JobCount& count : facts.measured.counts()) {
    if (!counts(count)) continue;
    const auto number = static_cast<double>(count.jobs());
    jobs += number;
    states[word_of(count.state())] += number;
    completing += count.completing() ? number : 0;
    held += count.held() ? number : 0;
    cpus += static_cast<double>(count.cpus());
    memory += static_cast<double>(count.memory_mib());
    nodes += static_cast<double>(count.nodes());
    gpus += static_cast<double>(count.gpus());
  }
  text.add(prefix, "Number of jobs", labels, jobs);
  for (const auto& [state, number] : states)
    text.add(prefix + "_" + state, "Number of jobs in state " + state, labels, number);
  text.add(prefix + "_completing", "Number of jobs that are being cleared away", labels, completing);
  text.add(prefix + "_hold", "Number of jobs that are held", labels, held);
  text.add(prefix + "_cpus_alloc", "CPUs allocated to jobs", labels, cpus);
  text.add(prefix + "_memory_alloc", "Memory allocated to jobs, MiB", labels, memory);
  text.add(prefix + "_nodes_alloc", "Nodes allocated to jobs", labels, nodes);
  text.add(prefix + "_gpus_alloc", "GPUs allocated to jobs", labels, gpus);
}

void add_users(Text& text, const MetricsFacts& facts) {
  std::map<std::string, bool> users, accounts;
  for (const api::JobCount& count : facts.measured.counts()) {
    users[count.user()] = true;
    if (!count.account().empty()) accounts[count.account()] = true;
  }
  for (const auto& [name, known] : users)
    add_jobs(text, facts, "slurm_user_jobs", {{"username", name}, {"user", name}},
             [&name = name](const api::JobCount& count) { return count.user() == name; });
  for (const auto& [name, known] : accounts)
    add_jobs(text, facts, "slurm_account_jobs", {{"account", name}},
             [&name = name](const api::JobCount& count) { return count.account() == name; });
}

void add_node_states(Text& text, const std::string& prefix, const Labels& labels,
                     const std::vector<const model::NodeRecord*>& nodes) {
  std::map<std::string, double> states = {{"alloc", 0}, {"idle", 0}, {"mixed", 0}, {"down", 0},
                                          {"drain", 0}, {"fail", 0}, {"maint", 0}, {"resv", 0}};
  for (const model::NodeRecord* node : nodes) {
    const ShownNodeState state = shown_state(*node);
    ++states[state.base == NodeBaseState::kDown        ? "down"
             : state.base == NodeBaseState::kAllocated ? "alloc"
             : state.base == NodeBaseState::kMixed     ? "mixed"
                                                       : "idle"];
    states["drain"] += state.drain;
    states["fail"] += state.fail;
    states["maint"] += state.maintenance;
    states["resv"] += state.reserved;
  }
  text.add(prefix, "Number of nodes", labels, static_cast<double>(nodes.size()));
  for (const auto& [state, number] : states)
    text.add(prefix + "_" + state, "Number of nodes in state " + state, labels, number);
}

void add_nodes(Text& text, const MetricsFacts& facts) {
  std::vector<const model::NodeRecord*> all;
  for (const model::NodeRecord& node : facts.nodes) all.push_back(&node);
  add_node_states(text, "slurm_nodes", {}, all);
  for (const model::NodeRecord& node : facts.nodes) {
    const Labels labels = {{"node", node.name()}};
    text.add("slurm_node_cpus", "CPUs of the node", labels, node.cpus());
    text.add("slurm_node_cpus_alloc", "CPUs allocated", labels, node.allocated_cpus());
    text.add("slurm_node_cpus_idle", "CPUs not allocated", labels,
             node.cpus() - std::min(node.cpus(), node.allocated_cpus()));
    text.add("slurm_node_memory_bytes", "Memory of the node", labels,
             static_cast<double>(node.memory_mib()) * (1 << 20));
    text.add("slurm_node_memory_alloc_bytes", "Memory allocated", labels,
             static_cast<double>(node.allocated_memory_mib()) * (1 << 20));
    text.add("slurm_node_memory_free_bytes", "Memory that is free, as the kernel says", labels,
             static_cast<double>(node.free_memory_mib()) * (1 << 20));
    text.add("slurm_node_gpus", "GPUs of the node", labels, static_cast<double>(text::gpus_in(node.gres())));
    text.add("slurm_node_gpus_alloc", "GPUs allocated", labels,
             static_cast<double>(text::gpus_in(node.allocated_gres())));
  }
}

void add_partitions(Text& text, const MetricsFacts& facts) {
  for (const model::PartitionRecord& partition : facts.partitions) {
    const Labels labels = {{"partition", partition.name()}};
    add_jobs(text, facts, "slurm_partition_jobs", labels,
             [&](const api::JobCount& count) { return count.partition() == partition.name(); });
    const auto names = text::expand_hostlist(partition.nodes());
    std::vector<const model::NodeRecord*> nodes;
    for (const model::NodeRecord& node : facts.nodes) {
      if (names && std::find(names->begin(), names->end(), node.name()) != names->end())
        nodes.push_back(&node);
    }
    add_node_states(text, "slurm_partition_nodes", labels, nodes);
    text.add("slurm_partition_cpus", "CPUs of the partition's nodes", labels, partition.total_cpus());
    text.add("slurm_partition_gpus", "GPUs of the partition's nodes", labels,
             static_cast<double>(text::gpus_in(partition.total_gres())));
  }
}

void add_scheduler(Text& text, const MetricsFacts& facts) {
  const api::DiagnosticsReply& seen = facts.diagnostics;
  const auto counter = [&](const std::string& name, std::string_view help, uint64_t value) {
    text.add(name, help, {}, static_cast<double>(value), "counter");
  };
  counter("slurm_sdiag_jobs_submitted", "Jobs submitted since the last reset", seen.jobs_submitted());
  counter("slurm_sdiag_jobs_started", "Jobs started since the last reset", seen.jobs_started());
  counter("slurm_sdiag_jobs_completed", "Jobs completed since the last reset", seen.jobs_completed());
  counter("slurm_sdiag_jobs_canceled", "Jobs cancelled since the last reset", seen.jobs_canceled());
  counter("slurm_sdiag_jobs_failed", "Jobs failed since the last reset", seen.jobs_failed());
  counter("slurm_sdiag_bf_backfilled_jobs", "Jobs started by backfill since the daemon's start",
          seen.backfilled_since_start());
  text.add("slurm_sdiag_agent_count", "Connections of clients", {}, seen.connections());
}

// Adds the parts of a GPU's cycles and the rates of its links, with the names and labels of dcgm-exporter.
// `of_gpu`: the labels of slurm-job-exporter.
void add_gpu_parts(Text& text, const model::Sample::Gpu& gpu, const model::GpuDevice* device,
                   const Labels& of_gpu, const model::JobRecord& job) {
  Labels labels;
  for (const auto& [label, content] : of_gpu) {
    if (label == "gpu") labels.emplace_back(label, content);
    if (label == "gpu_uuid") labels.emplace_back("UUID", content);
  }
  labels.emplace_back("modelName", device == nullptr ? "" : device->name());
  labels.emplace_back("hpc_job", std::to_string(job.job_id()));
  labels.emplace_back("user", job.user_name());
  labels.emplace_back("account", job.account());
  for (const model::GpuFigure& figure : gpu.figures()) {
    const GpuPartName* const name = name_of(figure.part());
    if (name == nullptr) continue;
    text.add(std::string(name->exported), name->help, labels,
             static_cast<double>(figure.value()) * name->exported_scale);
  }
}

// Adds the usage of running jobs, with the names of slurm-job-exporter.
void add_usage(Text& text, const MetricsFacts& facts) {
  std::map<std::string, const model::GpuDevice*> devices;
  for (const model::GpuDevice& device : facts.measured.machine().gpu_devices())
    devices[device.uuid()] = &device;
  for (const api::JobMeasurement& measured : facts.measured.jobs()) {
    if (!measured.has_now()) continue;
    const model::JobRecord& job = measured.job();
    const model::Sample& now = measured.now();
    const Labels labels = {
        {"slurmjobid", std::to_string(job.job_id())}, {"user", job.user_name()}, {"account", job.account()}};
    text.add("slurm_job_memory_usage", "Memory used by a job, bytes", labels,
             static_cast<double>(now.memory_kib()) * 1024);
    text.add("slurm_job_memory_max", "Largest memory seen of a job, bytes", labels,
             static_cast<double>(measured.peak_memory_kib()) * 1024);
    text.add("slurm_job_memory_limit", "Memory that a job holds, bytes", labels,
             static_cast<double>(job.memory_mib()) * (1 << 20));
    text.add("slurm_job_core_usage_total", "Processor time of a job, ns", labels,
             static_cast<double>(now.cpu_milliseconds()) * 1e6, "counter");
    text.add("slurm_job_process_count", "Processes of a job", labels, now.processes());
    for (int i = 0; i < measured.gpu_uuids_size() && i < now.gpus_size(); ++i) {
      const model::Sample::Gpu& gpu = now.gpus(i);
      const auto device = devices.find(measured.gpu_uuids(i));
      Labels of_gpu = labels;
      of_gpu.emplace_back(
          "gpu", device == devices.end() ? std::to_string(i) : std::to_string(device->second->number()));
      of_gpu.emplace_back("gpu_type", device == devices.end() ? "" : device->second->type());
      of_gpu.emplace_back("gpu_uuid", measured.gpu_uuids(i));
      text.add("slurm_job_utilization_gpu", "Percent of the time that the GPU is busy", of_gpu,
               gpu.utilization());
      text.add("slurm_job_memory_usage_gpu", "Memory in use on the GPU, bytes", of_gpu,
               static_cast<double>(gpu.memory_mib()) * (1 << 20));
      text.add("slurm_job_power_gpu", "Power of the GPU, mW", of_gpu, gpu.milliwatts());
      add_gpu_parts(text, gpu, device == devices.end() ? nullptr : device->second, of_gpu, job);
    }
  }
}

}  // namespace

std::string metrics_text(const MetricsFacts& facts, std::string_view path) {
  Text text;
  const bool all = path == "/metrics";
  bool known = all;
  const auto wants = [&](std::string_view one) {
    known |= path == one;
    return all || path == one;
  };
  if (wants("/metrics/jobs"))
    add_jobs(text, facts, "slurm_jobs", {}, [](const api::JobCount&) { return true; });
  if (wants("/metrics/jobs-users-accts")) add_users(text, facts);
  if (wants("/metrics/nodes")) add_nodes(text, facts);
  if (wants("/metrics/partitions")) add_partitions(text, facts);
  if (wants("/metrics/scheduler")) add_scheduler(text, facts);
  if (wants("/metrics/usage")) add_usage(text, facts);
  if (wants("/metrics/exporter"))
    add_exporter_names(facts,
                       [&text](const std::string& name, std::string_view help, const MetricLabels& labels,
                               double value) { text.add(name, help, labels, value); });
  return known ? text.take() + "# EOF\n" : "";
}

}  // namespace minke::view
