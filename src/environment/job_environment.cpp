#include "environment/job_environment.h"

#include <algorithm>

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "model/script_node.h"
#include "model/shards.h"
#include "submit/environment.h"
#include "text/dependency.h"
#include "text/gres_count.h"
#include "text/number.h"
#include "text/sluid.h"

namespace minke::environment {

namespace {

class Environment {
 public:
  void set(std::string_view name, std::string_view value) {
    std::string& line = lines_.emplace_back();
    line.reserve(name.size() + 1 + value.size());
    line.append(name).append("=").append(value);
  }
  void set(std::string_view name, uint64_t value) { set(name, std::to_string(value)); }
  void set_if(std::string_view name, std::string_view value) {
    if (!value.empty()) set(name, value);
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

// Returns the request as typed: "2", "a100:1", "a100:1,v100:2".
std::string gres_counts(const google::protobuf::RepeatedPtrField<model::Gres>& list) {
  std::string text;
  for (const model::Gres& gres : list) {
    if (gres.name() != "gpu") continue;
    if (!text.empty()) text += ",";
    if (!gres.type().empty()) text += gres.type() + ":";
    text += std::to_string(gres.count());
  }
  return text;
}

}  // namespace

std::string counts_per_node(const std::vector<uint32_t>& counts) {
  std::string text;
  for (size_t i = 0; i < counts.size();) {
    size_t end = i;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    if (!text.empty()) text += ",";
    text += std::to_string(counts[i]);
    if (end - i > 1) text += "(x" + std::to_string(end - i) + ")";
    i = end;
  }
  return text;
}

std::vector<uint32_t> gpu_numbers(const model::NodeAllocation& node) {
  std::vector<uint32_t> numbers;
  for (const auto& gres : node.gres()) {
    if (gres.name() == "gpu") numbers.insert(numbers.end(), gres.indices().begin(), gres.indices().end());
    if (gres.name() != "shard") continue;
    for (const uint32_t shard : gres.indices()) {
      const uint32_t gpu = shard / model::kShardsOfGpu;
      if (std::find(numbers.begin(), numbers.end(), gpu) == numbers.end()) numbers.push_back(gpu);
    }
  }
  return numbers;
}

uint32_t shard_count(const model::NodeAllocation& node) {
  for (const auto& gres : node.gres())
    if (gres.name() == "shard") return static_cast<uint32_t>(gres.indices_size());
  return 0;
}

std::string gpu_indices(const model::NodeAllocation& node) {
  std::string text;
  for (const uint32_t index : gpu_numbers(node)) text += (text.empty() ? "" : ",") + std::to_string(index);
  return text;
}

namespace {

// --cpu-freq as Slurm writes it: "High-High:Performance".
std::string frequency_text(std::string_view asked) {
  std::string text;
  while (!asked.empty()) {
    const size_t end = std::min(asked.find_first_of("-:"), asked.size());
    const std::string_view word = asked.substr(0, end);
    std::string written(word);
    for (const std::string_view known : {"Low", "Medium", "High", "Highm1", "Conservative", "OnDemand",
                                         "Performance", "PowerSave", "SchedUtil", "UserSpace"})
      if (text::equals_ignoring_case(word, known)) written = known;
    text += written;
    if (end < asked.size()) text += asked[end];
    asked.remove_prefix(std::min(end + 1, asked.size()));
  }
  return text;
}

// Sets what was requested and is not an amount: only if it was requested. srun
// reads most of it again.
void set_requested(Environment& environment, const model::JobSpec& spec) {
  constexpr std::string_view kPlane = "plane=";
  const std::string& distribution = spec.distribution();
  if (distribution.starts_with(kPlane)) {
    environment.set("SLURM_DISTRIBUTION", "plane");
    environment.set("SLURM_DIST_PLANESIZE", distribution.substr(kPlane.size()));
  } else {
    environment.set_if("SLURM_DISTRIBUTION", distribution);
  }
  environment.set_if("SLURM_CPU_FREQ_REQ", frequency_text(spec.cpu_freq()));
  environment.set_if("SLURM_GPUS_PER_SOCKET", gres_counts(spec.gpus_per_socket()));
  environment.set_if("SLURM_GPU_BIND", spec.gpu_bind());
  environment.set_if("SLURM_GPU_FREQ", spec.gpu_freq());
  environment.set_if("SLURM_HINT", spec.hint());
  environment.set_if("SLURM_JOB_LICENSES", spec.licenses());
  if (spec.has_segment_size()) environment.set("SLURM_JOB_SEGMENT_SIZE", spec.segment_size());
  if (!spec.mem_bind().empty()) {
    environment.set("SLURM_MEM_BIND", spec.mem_bind());
    const bool verbose = spec.mem_bind().starts_with('v');
    environment.set("SLURM_MEM_BIND_VERBOSE", verbose ? "verbose" : "quiet");
  }
  if (spec.has_ntasks_per_core()) environment.set("SLURM_NTASKS_PER_CORE", spec.ntasks_per_core());
  if (spec.has_ntasks_per_gpu()) environment.set("SLURM_NTASKS_PER_GPU", spec.ntasks_per_gpu());
  if (spec.has_ntasks_per_socket()) environment.set("SLURM_NTASKS_PER_SOCKET", spec.ntasks_per_socket());
  if (spec.open_mode() != model::OPEN_DEFAULT) {
    environment.set("SLURM_OPEN_MODE", spec.open_mode() == model::OPEN_APPEND ? "a" : "t");
  }
  if (spec.overcommit()) environment.set("SLURM_OVERCOMMIT", "1");
  environment.set_if("SLURM_PROFILE", spec.profile() == "none" ? "None" : spec.profile());
  if (spec.has_threads_per_core()) environment.set("SLURM_THREADS_PER_CORE", spec.threads_per_core());
}

// What current releases tell a task that it has: "cpu=2,gres/gpu=1", in place of SLURM_GPUS_PER_TASK.
std::string tres_of_task(const model::JobSpec& spec) {
  if (!spec.tres_per_task().empty() && !spec.tres_per_task().starts_with("gres:"))
    return spec.tres_per_task();
  std::string text;
  if (spec.has_cpus_per_task()) text = "cpu=" + std::to_string(spec.cpus_per_task());
  for (const model::Gres& gres : spec.gpus_per_task()) {
    text.append(text.empty() ? "gres/" : ",gres/").append(gres.name());
    if (!gres.type().empty()) text.append(1, ':').append(gres.type());
    text.append(1, '=').append(std::to_string(gres.count()));
  }
  return text;
}

void set_by_release(Environment& environment, const model::JobRecord& record, int release) {
  const model::JobSpec& spec = record.spec();
  if (release < kSlurm24) {
    environment.set_if("SLURM_GPUS_PER_TASK", gres_counts(spec.gpus_per_task()));
    if (!spec.tres_per_task().starts_with("gres:"))
      environment.set_if("SLURM_TRES_PER_TASK", spec.tres_per_task());
    return;
  }
  environment.set_if("SLURM_TRES_PER_TASK", tres_of_task(spec));
  const uint64_t gpus = text::gpus_in(spec.gpus_per_task());
  if (gpus > 0 && spec.gpu_bind().empty() && !spec.tres_per_task().starts_with("cpu"))
    environment.set("SLURM_TRES_BIND", "gres/gpu:per_task:" + std::to_string(gpus));
  if (release >= kSlurm26 && spec.interactive() && spec.has_ntasks_per_gpu() && spec.gpu_bind().empty())
    environment.set("SLURM_TRES_BIND", "gres/gpu:single:" + std::to_string(spec.ntasks_per_gpu()));
  environment.set("SLURM_OOM_KILL_STEP", spec.oom_kill_step() ? "1" : "0");
  if (release < kSlurm26) return;
  const std::string& mode = spec.exclusive_mode();
  environment.set("SLURM_JOB_EXCLUSIVE", spec.oversubscribe() ? "NO"
                                         : !mode.empty()      ? text::upper_case(mode)
                                         : spec.exclusive()   ? "NODE"
                                                              : "NO");
  environment.set("SLURM_JOB_OVERSUBSCRIBE", spec.oversubscribe() ? "YES" : "NO");
  environment.set("SLURM_JOB_SLUID", text::format_sluid(record));
}

}  // namespace

std::vector<std::string> allocation_environment(const model::JobRecord& record,
                                                const JobSurroundings& around) {
  Environment environment;
  const model::JobSpec& spec = record.spec();
  std::vector<uint32_t> cpus, tasks;
  // If nobody gave the number of tasks, it is as many as the CPUs can serve.
  const bool counted = spec.has_ntasks() || spec.has_ntasks_per_node() || spec.has_ntasks_per_gpu();
  for (const auto& node : record.nodes()) {
    cpus.push_back(node.cpus());
    tasks.push_back(counted ? node.tasks() : std::max(1U, node.cpus() / std::max(1U, spec.cpus_per_task())));
  }
  environment.set("SLURM_CLUSTER_NAME", around.cluster_name);
  environment.set_if("SLURM_MPI_TYPE", around.mpi_default);
  environment.set_if("SLURM_CONF", around.config_path);
  environment.set("MINKE_HOME", around.home);
  // Its steps are this cluster's, also where minke.toml names a Slurm by now (minke grow apply --leave).
  environment.set("MINKE_CLUSTER", "embedded");
  environment.set_if("SLURM_TMPDIR", around.tmp_dir);
  environment.set("SLURM_JOB_ID", record.job_id());
  environment.set("SLURM_JOBID", record.job_id());
  environment.set("SLURM_JOB_NAME", spec.name());
  environment.set("SLURM_JOB_USER", record.user_name());
  environment.set("SLURM_JOB_UID", record.uid());
  environment.set("SLURM_JOB_GID", record.gid());
  environment.set_if("SLURM_JOB_ACCOUNT", spec.account());
  environment.set_if("SLURM_JOB_QOS", spec.qos());
  environment.set_if("SLURM_CONTAINER", spec.container());
  environment.set("SLURM_JOB_PARTITION", record.partition());
  // In Slurm's order: some readers of printenv look for the number first.
  environment.set("SLURM_NNODES", static_cast<uint64_t>(record.nodes_size()));
  environment.set("SLURM_JOB_NUM_NODES", static_cast<uint64_t>(record.nodes_size()));
  environment.set("SLURM_NODELIST", record.node_list());
  environment.set("SLURM_JOB_NODELIST", record.node_list());
  environment.set("SLURM_JOB_CPUS_PER_NODE", counts_per_node(cpus));
  environment.set("SLURM_TASKS_PER_NODE", counts_per_node(tasks));
  environment.set("SLURM_JOB_START_TIME", static_cast<uint64_t>(record.start_time()));
  if (record.time_limit_minutes() != 0xffffffff) {
    environment.set("SLURM_JOB_END_TIME",
                    static_cast<uint64_t>(record.start_time() + int64_t{record.time_limit_minutes()} * 60));
  }
  environment.set("SLURM_SUBMIT_DIR", spec.work_dir());
  environment.set_if("SLURM_SUBMIT_HOST", spec.submit_host());
  if (spec.has_ntasks() || spec.has_ntasks_per_node()) {
    environment.set("SLURM_NTASKS", record.num_tasks());
    environment.set("SLURM_NPROCS", record.num_tasks());
  }
  if (spec.has_ntasks_per_node()) environment.set("SLURM_NTASKS_PER_NODE", spec.ntasks_per_node());
  if (spec.has_cpus_per_task()) environment.set("SLURM_CPUS_PER_TASK", spec.cpus_per_task());
  // An allocation is told what its user asked for; a script also what the partition gave.
  const bool tells_memory = !(spec.interactive() && spec.memory_by_default());
  if (spec.has_mem_per_node_mib() && tells_memory)
    environment.set("SLURM_MEM_PER_NODE", spec.mem_per_node_mib());
  if (spec.has_mem_per_cpu_mib() && tells_memory)
    environment.set("SLURM_MEM_PER_CPU", spec.mem_per_cpu_mib());
  // What the partition gave is no request, which a step would take over.
  if (spec.has_mem_per_gpu_mib() && !spec.mem_per_gpu_by_default())
    environment.set("SLURM_MEM_PER_GPU", spec.mem_per_gpu_mib());
  if (spec.has_cpus_per_gpu() && !spec.cpus_per_gpu_by_default())
    environment.set("SLURM_CPUS_PER_GPU", spec.cpus_per_gpu());
  environment.set_if("SLURM_GPUS", gres_counts(spec.gpus()));
  environment.set_if("SLURM_GPUS_PER_NODE", spec.gpus_per_node());
  set_by_release(environment, record, around.release);
  set_requested(environment, spec);
  environment.set_if("SLURM_JOB_RESERVATION",
                     around.reservation.empty() ? spec.reservation() : around.reservation);
  if (!spec.interactive()) environment.set_if("SLURM_EXPORT_ENV", spec.export_option());
  if (spec.dependencies_size() > 0) {
    text::DependencyList list{{spec.dependencies().begin(), spec.dependencies().end()},
                              spec.dependency_any()};
    environment.set("SLURM_JOB_DEPENDENCY", text::format_dependency_request(list));
  }
  if (record.restarts() > 0) environment.set("SLURM_RESTART_COUNT", record.restarts());
  if (record.has_array_task_id()) {
    environment.set("SLURM_ARRAY_JOB_ID", record.array_job_id());
    environment.set("SLURM_ARRAY_TASK_ID", record.array_task_id());
    environment.set("SLURM_ARRAY_TASK_COUNT", around.array_count);
    environment.set("SLURM_ARRAY_TASK_MIN", around.array_min);
    environment.set("SLURM_ARRAY_TASK_MAX", around.array_max);
    environment.set("SLURM_ARRAY_TASK_STEP", around.array_step);
  }
  return environment.take();
}

std::vector<std::string> component_environment(const model::JobRecord& record, const JobSurroundings& around,
                                               uint32_t offset) {
  constexpr std::string_view kOfComponents[] = {
      "SLURM_JOB_ACCOUNT",   "SLURM_JOB_CPUS_PER_NODE", "SLURM_JOB_ID",         "SLURM_JOB_NAME",
      "SLURM_JOB_NODELIST",  "SLURM_JOB_NUM_NODES",     "SLURM_JOB_PARTITION",  "SLURM_JOB_QOS",
      "SLURM_MEM_PER_CPU",   "SLURM_MEM_PER_NODE",      "SLURM_MEM_PER_GPU",    "SLURM_NPROCS",
      "SLURM_NTASKS",        "SLURM_TASKS_PER_NODE",    "SLURM_CPUS_PER_TASK",  "SLURM_GPUS",
      "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK",     "SLURM_NTASKS_PER_NODE"};
  std::vector<std::string> variables;
  for (const std::string& line : allocation_environment(record, around)) {
    const std::string name = line.substr(0, line.find('='));
    // salloc and srun also set the old names of some.
    const bool old = name == "SLURM_JOBID" || name == "SLURM_NNODES" || name == "SLURM_NODELIST";
    if (!(old && record.spec().interactive()) &&
        std::find(std::begin(kOfComponents), std::end(kOfComponents), name) == std::end(kOfComponents))
      continue;
    for (const char* group : {"_HET_GROUP_", "_PACK_GROUP_"})  // the second is its old name
      variables.push_back(name + group + std::to_string(offset) + line.substr(name.size()));
  }
  return variables;
}

bool has_variable(std::string_view block, std::string_view name) {
  if (block.starts_with(name)) return true;
  for (size_t at = 0; (at = block.find('\0', at)) != std::string_view::npos; ++at) {
    if (block.substr(at + 1).starts_with(name)) return true;
  }
  return false;
}

// `entry`: NAME=VALUE.
bool has_entry(std::string_view block, std::string_view entry) {
  for (size_t at = 0; at < block.size();) {
    const size_t end = std::min(block.find('\0', at), block.size());
    if (block.substr(at, end - at) == entry) return true;
    at = end + 1;
  }
  return false;
}

void leave_submit_dir(std::string_view block, std::vector<std::string>& variables) {
  constexpr std::string_view kName = "SLURM_SUBMIT_DIR=";
  if (!has_variable(block, kName)) return;
  std::erase_if(variables, [&](const std::string& variable) { return variable.starts_with(kName); });
}

std::vector<std::string> virtual_node_environment(int nodes, std::string_view block) {
  if (nodes < 2) return {};
  std::vector<std::string> variables;
  if (!has_variable(block, "OMPI_MCA_btl=")) variables.emplace_back("OMPI_MCA_btl=^vader,sm");
  if (!has_variable(block, "OMPI_MCA_btl_tcp_if_include=") &&
      !has_variable(block, "OMPI_MCA_btl_tcp_if_exclude="))
    variables.emplace_back("OMPI_MCA_btl_tcp_if_include=lo");
  return variables;
}

std::vector<std::string> tier_environment(const std::vector<storage::Tier>& tiers, const std::string& user,
                                          const Projects& projects, const std::string& tmp_dir,
                                          std::string_view block) {
  std::vector<std::string> variables = storage::tier_variables(tiers, user, projects.of_job, tmp_dir);
  const std::vector<std::string> usual = storage::tier_variables(tiers, user, projects.usual, tmp_dir);
  std::erase_if(variables, [&](const std::string& variable) {
    const size_t end = variable.find('=') + 1;
    if (variable.compare(end, std::string::npos, tmp_dir) == 0) return false;
    const std::string_view name = std::string_view(variable).substr(0, end);
    if (!has_variable(block, name)) return false;
    const auto shells = std::find_if(usual.begin(), usual.end(),
                                     [&](const std::string& one) { return one.starts_with(name); });
    return shells == usual.end() || *shells == variable || !has_entry(block, *shells);
  });
  return variables;
}

std::vector<std::string> batch_environment(const model::JobRecord& record, const GpuVariables& gpu_variables,
                                           int release) {
  Environment environment;
  environment.set("ENVIRONMENT", "BATCH");
  const model::JobSpec& spec = record.spec();
  if (spec.get_user_env() || (spec.export_option() == "NIL" && release < kSlurm24) ||
      submit::export_needs_user_env(spec.export_option()))
    environment.set("SLURM_GET_USER_ENV", "1");
  if (record.nodes_size() == 0) return environment.take();
  const model::NodeAllocation& node = model::script_node(record);
  environment.set("HOSTNAME", node.node());
  environment.set("SLURMD_NODENAME", node.node());
  environment.set("SLURM_CPUS_ON_NODE", node.cpus());
  environment.set("SLURM_GTIDS", "0");
  environment.set("SLURM_LOCALID", "0");
  environment.set("SLURM_NODEID", "0");
  environment.set("SLURM_PROCID", "0");
  if (release >= kSlurm26) {  // Slurm's number of the batch step
    environment.set("SLURM_STEP_ID", "-5");
    environment.set("SLURM_STEPID", "-5");
  }
  environment.set("SLURM_TOPOLOGY_ADDR", node.node());
  environment.set("SLURM_TOPOLOGY_ADDR_PATTERN", "node");
  if (const std::string gpus = gpu_indices(node); !gpus.empty()) {
    for (const auto& [name, value] : gpu_variables) environment.set(name, value);
    environment.set("SLURM_JOB_GPUS", gpus);
    if (const uint32_t shards = shard_count(node); shards > 0) {
      environment.set("SLURM_SHARDS_ON_NODE", shards);
    } else {
      environment.set("SLURM_GPUS_ON_NODE", 1 + std::count(gpus.begin(), gpus.end(), ','));
    }
  }
  return environment.take();
}

std::string merge_environment(std::string_view block, const std::vector<std::string>& additions,
                              const std::string& prefix_path) {
  const auto name_of = [](std::string_view line) { return line.substr(0, line.find('=')); };
  std::vector<std::string_view> replaced;
  replaced.reserve(additions.size());
  for (const std::string& line : additions) replaced.push_back(name_of(line));
  std::sort(replaced.begin(), replaced.end());
  std::string merged;
  merged.reserve(block.size() + 4096);
  bool has_path = false;
  while (!block.empty()) {
    const std::string_view line = block.substr(0, block.find('\0'));
    block.remove_prefix(std::min(block.size(), line.size() + 1));
    const std::string_view name = name_of(line);
    if (name.empty() || std::binary_search(replaced.begin(), replaced.end(), name)) continue;
    if (name == "PATH" && !prefix_path.empty()) {
      has_path = true;
      const std::string value =
          ":" + std::string(line.substr(name.size() + (line.size() > name.size()))) + ":";
      if (value.find(":" + prefix_path + ":") == std::string::npos) {
        merged.append("PATH=").append(prefix_path).append(value, 0, value.size() - 1).push_back('\0');
        continue;
      }
    }
    merged.append(line).push_back('\0');
  }
  if (!has_path && !prefix_path.empty()) {
    merged.append("PATH=").append(prefix_path).append(":/usr/local/bin:/usr/bin:/bin").push_back('\0');
  }
  for (const std::string& line : additions) merged.append(line).push_back('\0');
  return merged;
}

}  // namespace minke::environment
