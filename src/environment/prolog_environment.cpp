#include "environment/prolog_environment.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "environment/job_paths.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "text/state.h"

namespace minke::environment {
namespace {

// Does not cut within a character of UTF-8.
std::string beginning_of(const std::string& text) {
  if (text.size() <= kMostPrologText) return text;
  size_t end = kMostPrologText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

std::vector<std::string> prolog_environment(const model::JobRecord& record, const JobSurroundings& around,
                                            const std::string& context, const std::string& node,
                                            const GpuVariables& gpus) {
  std::vector<std::string> environment;
  const auto set = [&](const char* name, const std::string& value) {
    environment.push_back(std::string(name) + "=" + value);
  };
  const auto count = [&](const char* name, int64_t value) { set(name, std::to_string(value)); };
  // Sets text that a user may have written.
  const auto set_text = [&](const char* name, const std::string& value) { set(name, beginning_of(value)); };
  const auto set_text_if = [&](const char* name, const std::string& value) {
    if (!value.empty()) set_text(name, value);
  };
  const auto set_path = [&](const char* name, const std::string& value) {
    if (!value.empty() && value.size() <= kMostPrologPath) set(name, value);
  };
  const model::JobSpec& spec = record.spec();
  const bool on_node = !node.empty();
  std::vector<uint32_t> cpus;
  for (const auto& one : record.nodes()) cpus.push_back(one.cpus());

  // So scontrol and the others are found, and find this cluster.
  set("MINKE_HOME", around.home);
  set("PATH", around.home + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  set("SLURM_CLUSTER_NAME", around.cluster_name);
  set("SLURM_SCRIPT_CONTEXT", context);
  count("SLURM_JOB_ID", record.job_id());
  count("SLURM_JOBID", record.job_id());
  count("SLURM_JOB_UID", record.uid());
  count("SLURM_JOB_GID", record.gid());
  set_text("SLURM_JOB_USER", record.user_name());
  set_text_if("SLURM_JOB_GROUP", record.group_name());
  set_text_if("SLURM_JOB_ACCOUNT", spec.account());
  set_text("SLURM_JOB_NAME", spec.name());
  set_text("SLURM_JOB_PARTITION", record.partition());
  set("SLURM_JOB_NODELIST", record.node_list());
  count("SLURM_JOB_NUM_NODES", record.nodes_size());
  set("SLURM_JOB_CPUS_PER_NODE", counts_per_node(cpus));
  count("SLURM_JOB_RESTART_COUNT", record.restarts());
  set_path("SLURM_JOB_WORK_DIR", spec.work_dir());
  set_text_if("SLURM_JOB_COMMENT", spec.comment());
  set_text_if("SLURM_JOB_CONSTRAINTS", spec.constraint());
  set_text_if("SLURM_JOB_LICENSES", spec.licenses());
  set_text_if("SLURM_JOB_QOS", spec.qos());
  set_text_if("SLURM_JOB_RESERVATION", around.reservation.empty() ? spec.reservation() : around.reservation);
  set_text_if("SLURM_WCKEY", spec.wckey());
  count("SLURM_JOB_START_TIME", record.start_time());
  if (!spec.interactive()) {
    const JobPaths paths = paths_of(record);
    set_path("SLURM_JOB_STDIN", paths.in.empty() ? "/dev/null" : paths.in);
    set_path("SLURM_JOB_STDOUT", paths.out);
    set_path("SLURM_JOB_STDERR", paths.error);
  }
  if (record.array_job_id() != 0) {
    count("SLURM_ARRAY_JOB_ID", record.array_job_id());
    count("SLURM_ARRAY_TASK_ID", record.array_task_id());
    count("SLURM_ARRAY_TASK_COUNT", around.array_count);
    count("SLURM_ARRAY_TASK_MIN", around.array_min);
    count("SLURM_ARRAY_TASK_MAX", around.array_max);
    count("SLURM_ARRAY_TASK_STEP", around.array_step);
  }
  if (record.het_job_id() != 0) {
    count("SLURM_HET_JOB_ID", record.het_job_id());
    count("SLURM_HET_JOB_OFFSET", record.het_job_offset());
  }
  if (on_node) {
    set("SLURMD_NODENAME", node);
    set_path("SLURM_CONF", around.config_path);
    set("SLURM_NODELIST", record.node_list());
    count("SLURM_UID", record.uid());
    const auto here = std::find_if(record.nodes().begin(), record.nodes().end(),
                                   [&](const auto& one) { return one.node() == node; });
    if (here != record.nodes().end()) {
      if (const std::string numbers = gpu_indices(*here); !numbers.empty()) {
        set("SLURM_JOB_GPUS", numbers);
        for (const auto& [name, value] : gpus) set(name.c_str(), value);
      }
    }
  }
  if (context == kEpilog || context == kEpilogSlurmctld) {
    count("SLURM_JOB_EXIT_CODE", record.exit_code());
    set("SLURM_JOB_EXIT_CODE2", text::format_exit_code(record.exit_code()));
    count("SLURM_JOB_DERIVED_EC", record.derived_exit_code());
    count("SLURM_JOB_END_TIME", record.end_time());
  }
  return environment;
}

}  // namespace minke::environment
