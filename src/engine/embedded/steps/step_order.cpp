// The launch order of a step: the program, the nodes, the environment and the streams of its tasks.
#include <algorithm>

#include "api/steps.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/launching/confining.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/launching/task_prologs.h"
#include "engine/embedded/steps/steps.h"
#include "environment/job_environment.h"
#include "environment/job_paths.h"
#include "environment/step_gpus.h"
#include "node/launch.pb.h"
#include "text/file_pattern.h"

namespace minke::engine {

using namespace model;

namespace {

std::vector<uint32_t> non_zero(const std::vector<uint32_t>& counts) {
  std::vector<uint32_t> result;
  std::copy_if(counts.begin(), counts.end(), std::back_inserter(result),
               [](uint32_t count) { return count != 0; });
  return result;
}

node::StreamOrder stream_order(const api::StepStream& stream, uint32_t rank,
                               const text::FilePatternValues& values, const std::string& work_dir,
                               bool append) {
  node::StreamOrder order;
  if (!stream.path().empty()) {
    const std::string path = text::expand_file_pattern(stream.path(), values);
    order.set_path(path.front() == '/' ? path : work_dir + "/" + path);
    order.set_append(append);
  } else if (stream.descriptors() > 0 && (!stream.has_only_task() || stream.only_task() == rank)) {
    order.set_descriptor(stream.first_descriptor() + (stream.descriptors() > 1 ? rank : 0));
  }
  return order;
}

// Steps of several components appear as one step to their tasks.
api::HetStep whole_of(const Job& job, const api::StepSpec& spec, const StepRecord& record,
                      const StepLayout& layout) {
  api::HetStep whole = spec.het();
  if (spec.has_het()) return whole;
  whole.set_job_id(job.het_job_id != 0 ? job.het_job_id : job.id);
  whole.set_tasks(record.num_tasks());
  whole.set_nodes(record.num_nodes());
  whole.set_node_list(record.node_list());
  whole.set_tasks_per_node(environment::counts_per_node(non_zero(layout.tasks)));
  return whole;
}

// The environment variables that all tasks of the step share.
std::vector<std::string> common_variables(const api::StepSpec& spec, const StepRecord& record,
                                          const api::HetStep& whole, const std::string& home,
                                          const std::string& tmp_dir, int release) {
  const std::string tasks = std::to_string(whole.tasks());
  std::vector<std::string> common = {
      "MINKE_HOME=" + home,
      "MINKE_CLUSTER=embedded",
      "SLURM_JOB_ID=" + std::to_string(whole.job_id()),
      "SLURM_JOBID=" + std::to_string(whole.job_id()),
      "SLURM_STEP_ID=" + std::to_string(record.step_id()),
      "SLURM_STEPID=" + std::to_string(record.step_id()),
      "SLURM_STEP_NODELIST=" + whole.node_list(),
      "SLURM_STEP_NUM_NODES=" + std::to_string(whole.nodes()),
      "SLURM_STEP_NUM_TASKS=" + tasks,
      "SLURM_STEP_TASKS_PER_NODE=" + whole.tasks_per_node(),
      "SLURM_TMPDIR=" + tmp_dir,
      "SLURM_TOPOLOGY_ADDR_PATTERN=node",
      "SLURM_SRUN_COMM_HOST=127.0.0.1",
      "SLURM_LAUNCH_NODE_IPADDR=127.0.0.1",
  };
  // A shell has the job's, for the steps that it begins.
  if (spec.interactive()) return common;
  if (release >= kSlurm24) common.emplace_back("SLURMD_DEBUG=2");
  common.push_back("SLURM_TASKS_PER_NODE=" + whole.tasks_per_node());
  common.push_back("SLURM_NTASKS=" + tasks);
  common.push_back("SLURM_NPROCS=" + tasks);
  common.push_back("SLURM_NNODES=" + std::to_string(whole.nodes()));
  if (!spec.container().empty()) common.push_back("SLURM_CONTAINER=" + spec.container());
  if (spec.has_cpus_per_task())
    common.push_back("SLURM_CPUS_PER_TASK=" + std::to_string(spec.cpus_per_task()));
  if (spec.has_ntasks_per_gpu())
    common.push_back("SLURM_NTASKS_PER_TRES=" + std::to_string(spec.ntasks_per_gpu()));
  if (spec.has_ntasks_per_node())
    common.push_back("SLURM_NTASKS_PER_NODE=" + std::to_string(spec.ntasks_per_node()));
  if (release >= kSlurm24 && spec.has_ntasks_per_gpu() && spec.gpus_per_task_size() == 0 &&
      spec.gpu_bind().empty()) {
    const std::string bind = "TRES_BIND=gres/gpu:single:" + std::to_string(spec.ntasks_per_gpu());
    common.push_back("SLURM_" + bind);
    if (release >= kSlurm26) common.push_back("SLURMD_" + bind);
  }
  for (const Gres& gres : spec.gpus_per_task()) {
    if (gres.name() != "gpu") continue;
    const bool old = release < kSlurm24;
    common.push_back(std::string("SLURMD_TRES_BIND=") + (old ? "gpu:" : "gres/gpu:") +
                     "per_task:" + std::to_string(gres.count()));
    break;
  }
  return common;
}

void add_places(const Core& core, const Job& job, const StepLayout& layout, node::LaunchOrder& order) {
  for (size_t i = 0; i < layout.tasks.size(); ++i) {
    NodeAllocation node = job.details->nodes.Get(static_cast<int>(i));
    if (layout.memory_mib[i] != 0) node.set_memory_mib(layout.memory_mib[i]);
    node::PlaceOrder& place = *order.add_places();
    place.set_memory_bytes(core.launching->memory_limit_of(node));
    place.set_host_name(host_name_of(core, node.node()));
  }
}

// The place of each task.
class TaskPlaces {
 public:
  TaskPlaces(const StepLayout& layout, const api::HetStep& whole)
      : next_local_id_(layout.tasks.size(), 0),
        node_ids_(layout.tasks.size(), 0),
        task_ids_(layout.tasks.size()) {
    for (size_t rank = 0; rank < layout.task_nodes.size(); ++rank) {
      std::string& ids = task_ids_[layout.task_nodes[rank]];
      ids += (ids.empty() ? "" : ",") + std::to_string(whole.first_task() + rank);
    }
    for (size_t i = 0, next = whole.first_node(); i < layout.tasks.size(); ++i) {
      if (layout.tasks[i] != 0) node_ids_[i] = static_cast<uint32_t>(next++);
    }
  }

  uint32_t take_local_id(size_t node) { return next_local_id_[node]++; }  // in the order of ranks
  uint32_t node_id(size_t node) const { return node_ids_[node]; }
  const std::string& task_ids(size_t node) const { return task_ids_[node]; }

 private:
  std::vector<uint32_t> next_local_id_, node_ids_;
  std::vector<std::string> task_ids_;
};

void add_variable(node::TaskOrder& task, std::string_view name, const std::string& value) {
  task.add_environment(std::string(name) + "=" + value);
}

// `step_gpus`: the step's GPUs on this node.
void add_gpu_variables(const Core& core, const Job& job, const api::StepSpec& spec,
                       const NodeAllocation& node, const std::vector<uint32_t>& step_gpus, uint32_t local_id,
                       node::TaskOrder& task) {
  if (!step_gpus.empty()) {
    const std::vector<uint32_t> gpus = environment::gpus_of_task(spec, step_gpus, local_id);
    const environment::GpuVariables own = gpu_variables(core, job, node.node(), gpus);
    for (const auto& [name, value] : own) add_variable(task, name, value);
    add_variable(task, "SLURM_STEP_GPUS", environment::join_numbers(gpus));
    add_variable(task, "SLURM_GPUS_ON_NODE", std::to_string(step_gpus.size()));
    if (environment::tells_gpu_binding(spec.gpu_bind()) && !spec.gpu_bind().ends_with(",none"))
      add_variable(task, "MINKE_GPU_BIND",
                   environment::gpu_binding_text(gpus, step_gpus, own.front().second));
  } else if (!environment::gpu_numbers(node).empty()) {
    // The job has GPUs, this step none: it asked for none, or the job has them with whole nodes only.
    for (const auto& [name, value] : gpu_variables(core, job, node.node(), environment::gpu_numbers(node)))
      add_variable(task, name, spec.no_gres() ? "" : value);
    if (const uint32_t shards = environment::shard_count(node); shards > 0 && !spec.no_gres())
      add_variable(task, "SLURM_SHARDS_ON_NODE", std::to_string(shards));
  }
}

// The files that a task reads and writes.
void write_streams(const api::StepSpec& spec, const text::FilePatternValues& values, node::TaskOrder& task) {
  const bool append = spec.open_mode() == OPEN_APPEND;
  *task.mutable_stdin() = stream_order(spec.stdin(), task.rank(), values, spec.work_dir(), false);
  *task.mutable_stdout() = stream_order(spec.stdout(), task.rank(), values, spec.work_dir(), append);
  if (spec.stderr().path().empty() && spec.stderr().descriptors() == 0) {
    task.mutable_stderr()->set_same_as_stdout(true);
  } else {
    *task.mutable_stderr() = stream_order(spec.stderr(), task.rank(), values, spec.work_dir(), append);
  }
}

}  // namespace

node::LaunchOrder Steps::order_of(const Job& job, const api::StepSpec& spec, const Step& step,
                                  const StepLayout& layout) {
  const StepRecord& record = step.tag.record();
  node::LaunchOrder order;
  order.mutable_id()->set_job_id(job.id);
  order.mutable_id()->set_run(job.restarts);
  order.mutable_id()->set_kind(STEP_NORMAL);
  order.mutable_id()->set_step_id(record.step_id());
  const std::vector<std::string> prologs = task_prolog_words(core_.config.prologs, false);
  for (const std::string& word : prologs) order.add_argv(word);
  order.mutable_argv()->MergeFrom(spec.wrapper());
  order.mutable_argv()->MergeFrom(spec.argv());
  order.set_work_dir(spec.work_dir());
  order.set_umask(spec.umask());
  *order.mutable_resource_limits() = spec.resource_limits();
  confine(core_, job, order);
  add_places(core_, job, layout, order);
  order.set_controlling_terminal(spec.pty());
  order.set_script_error_prefix(kErrorPrefix);
  step.tag.SerializeToString(order.mutable_tag());

  const api::HetStep whole = whole_of(job, spec, record, layout);
  std::vector<std::string> common =
      common_variables(spec, record, whole, core_.config.home, order.tmp_dir(), core_.config.slurm_release);
  if (core_.config.slurm_release >= kSlurm26 && !spec.interactive())
    common.push_back("SLURM_JOB_GROUP=" + core_.state.group_name(job.gid));
  core_.launching->add_common(job, spec.environment(), common);
  order.set_environment(
      environment::merge_environment(spec.environment(), common, core_.config.home + "/bin"));

  JobRecord job_record = core_.state.record_of(job);
  *job_record.mutable_spec() = job.submission->spec();
  text::FilePatternValues values = environment::pattern_values(job_record);
  values.step = std::to_string(record.step_id());
  TaskPlaces places(layout, whole);
  for (size_t rank = 0; rank < layout.task_nodes.size(); ++rank) {
    const size_t index = layout.task_nodes[rank];
    const NodeAllocation& node = job.details->nodes.Get(static_cast<int>(index));
    const uint32_t local_id = places.take_local_id(index);
    node::TaskOrder& task = *order.add_tasks();
    task.set_rank(static_cast<uint32_t>(rank));
    task.set_place(static_cast<uint32_t>(index));
    if (!spec.programs().empty()) {
      for (const std::string& word : prologs) task.add_argv(word);
      task.mutable_argv()->MergeFrom(spec.wrapper());
      task.mutable_argv()->MergeFrom(spec.programs(static_cast<int>(rank)).argv());
    }
    const uint32_t cpus = layout.cpus[index] != 0 ? layout.cpus[index] : node.cpus();
    add_variable(task, "SLURM_PROCID", std::to_string(whole.first_task() + rank));
    add_variable(task, "SLURM_LOCALID", std::to_string(local_id));
    add_variable(task, "SLURM_NODEID", std::to_string(places.node_id(index)));
    add_variable(task, "SLURM_GTIDS", places.task_ids(index));
    add_variable(task, "SLURMD_NODENAME", node.node());
    add_variable(task, "SLURM_TOPOLOGY_ADDR", node.node());
    add_variable(task, "SLURM_CPUS_ON_NODE", std::to_string(cpus));
    add_gpu_variables(core_, job, spec, node, layout.gpus[index], local_id, task);
    values.task_rank = whole.first_task() + static_cast<uint32_t>(rank);
    values.node_index = places.node_id(index);
    values.host_name = node.node();
    write_streams(spec, values, task);
  }
  return order;
}

}  // namespace minke::engine
