// Jobs for --json, and the common parts of all documents.
#include "view/document/records.h"

#include <optional>
#include <string>
#include <vector>

#include "base/version.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "text/cpu_frequency.h"
#include "text/dependency.h"
#include "text/mail_type.h"
#include "text/number.h"
#include "text/signal_name.h"
#include "text/sluid.h"
#include "text/state.h"
#include "text/tres.h"

namespace minke::view {
namespace {

using model::JobRecord;
using model::JobSpec;

std::string tres_per(const google::protobuf::RepeatedPtrField<model::Gres>& gres) {
  std::string out;
  append_gres_request(out, gres, "");
  return tres_in_words(out, kSlurm26);
}

// Whether the number of tasks was asked for, and not made of --nodes and --ntasks-per-node.
bool asks_for_tasks(const JobSpec& spec) {
  const bool by_nodes = spec.has_min_nodes() && spec.has_ntasks_per_node() &&
                        spec.ntasks() == spec.min_nodes() * spec.ntasks_per_node();
  return spec.has_ntasks() && !by_nodes;
}

// Whether the most nodes follow from the number of tasks.
bool has_implicit_nodes(const JobSpec& spec) {
  return !spec.has_min_nodes() && !spec.has_max_nodes() && (spec.has_ntasks() || spec.has_ntasks_per_node());
}

void describe_flags(Document& document, const JobRecord& job) {
  const JobSpec& spec = job.spec();
  const bool by_default = spec.partition().empty() || spec.partition_by_default();
  const auto binds = [&](std::string_view word) { return spec.gres_flags().find(word) != std::string::npos; };
  const std::pair<std::string_view, bool> flags[] = {
      {"KILL_INVALID_DEPENDENCY", spec.has_kill_on_invalid_dependency() && spec.kill_on_invalid_dependency()},
      {"NO_KILL_INVALID_DEPENDENCY",
       spec.has_kill_on_invalid_dependency() && !spec.kill_on_invalid_dependency()},
      {"SPREAD_JOB", spec.spread_job()},
      {"PREFER_MINIMUM_NODE_COUNT", spec.use_min_nodes()},
      {"GRES_BINDING_DISABLED", binds("disable-binding")},
      {"GRES_BINDING_ENFORCED", binds("enforce-binding")},
      {"EXACT_TASK_COUNT_REQUESTED", asks_for_tasks(spec)},
      {"EXACT_CPU_COUNT_REQUESTED", spec.has_cpus_per_task()},
      {"JOB_WAS_RUNNING", job.state() == model::JOB_RUNNING || job.state() == model::JOB_SUSPENDED},
      {"CRON_JOB", spec.has_cron() && !is_finished(job.state())},
      {"EXTERNAL_JOB", spec.external()},
      {"EXACT_MEMORY_REQUESTED",
       !spec.memory_by_default() && (spec.has_mem_per_node_mib() || spec.has_mem_per_cpu_mib())},
      {"USING_DEFAULT_ACCOUNT", spec.account().empty()},
      {"USING_DEFAULT_PARTITION", by_default},
      {"USING_DEFAULT_QOS", spec.qos().empty()},
      {"USING_DEFAULT_WCKEY", spec.wckey().empty()},
      // Slurm does not look at what a job that was submitted held depends on.
      {"DEPENDENT", !spec.dependencies().empty() || spec.hold()},
      {"PARTITION_ASSIGNED", by_default},
      {"SPREAD_SEGMENTS", spec.spread_segments()},
      {"CONSOLIDATE_SEGMENTS", spec.consolidate_segments()},
      {"EXPEDITED_REQUEUE", spec.expedited_requeue()},
      {"JOB_IMPLICIT_MAX_NODES", has_implicit_nodes(spec)}};
  document.begin_array("flags");
  for (const auto& [flag, is_set] : flags)
    if (is_set) document.text(flag);
  document.end();
}

void describe_gres_detail(Document& document, const JobRecord& job) {
  document.begin_array("gres_detail");
  for (const model::NodeAllocation& node : job.nodes())
    if (!node.gres().empty())
      document.text(text::format_gres_allocation(
          std::vector<model::GresAllocation>(node.gres().begin(), node.gres().end())));
  document.end();
}

void describe_mail_types(Document& document, const JobSpec& spec) {
  document.begin_array("mail_type");
  const uint16_t types = text::parse_mail_types(spec.mail_type());
  constexpr std::pair<uint16_t, std::string_view> kWords[] = {
      {text::kMailBegin, "BEGIN"},
      {text::kMailEnd, "END"},
      {text::kMailFail, "FAIL"},
      {text::kMailRequeue, "REQUEUE"},
      {text::kMailLimit, "TIME=100%"},
      {text::kMailLimit90, "TIME=90%"},
      {text::kMailLimit80, "TIME=80%"},
      {text::kMailLimit50, "TIME=50%"},
      {text::kMailStageOut, "STAGE_OUT"},
      {text::kMailArrayTasks, "ARRAY_TASKS"},
      {text::kMailInvalidDepend, "INVALID_DEPENDENCY"},
  };
  for (const auto& [type, word] : kWords)
    if ((types & type) != 0) document.text(word);
  document.end();
}

// In kilohertz, or in Slurm's numbers for names.
void describe_frequency(Document& document, const JobSpec& spec) {
  const text::CpuFrequency asked = text::read_cpu_frequency(spec.cpu_freq());
  document.number("cpu_frequency_minimum", asked.least);
  document.number("cpu_frequency_maximum", asked.most);
  document.number("cpu_frequency_governor", asked.governor);
}

void describe_profile(Document& document, const JobSpec& spec) {
  document.begin_array("profile");
  if (spec.profile().empty()) {
    document.text("NOT_SET");
  } else {
    for (const std::string_view kind : text::split(spec.profile(), ','))
      document.text(text::upper_case(kind));
  }
  document.end();
}

void describe_array(Document& document, const JobRecord& job, const uint32_t* waiting_task,
                    const DisplayContext& context) {
  const JobSpec& spec = job.spec();
  document.number("array_job_id", job.array_job_id());
  std::optional<int64_t> task;
  if (waiting_task != nullptr) task = *waiting_task;
  if (job.has_array_task_id()) task = job.array_task_id();
  document.number("array_task_id", task);
  document.number("array_max_tasks", std::max(spec.array().max_running(), job.array_pending().max_running()));
  std::string tasks;
  if (!task && job.array_pending().ranges_size() > 0)
    append_task_ids(tasks, job, nullptr, context.task_list_limit);
  document.text("array_task_string", tasks);
}

void describe_memory(Document& document, const JobRecord& job) {
  const MemoryRequest memory = memory_request(job);
  const auto value = static_cast<int64_t>(memory.mebibytes);
  if (job.spec().has_mem_per_gpu_mib()) {  // Slurm shows the amount of one GPU as the node's
    document.number("memory_per_cpu", std::nullopt);
    document.number("memory_per_node", static_cast<int64_t>(job.spec().mem_per_gpu_mib()));
  } else {
    document.number("memory_per_cpu", memory.per_cpu ? std::optional(value) : std::nullopt);
    document.number("memory_per_node", memory.per_cpu ? std::nullopt : std::optional(value));
  }
  const std::string_view update = job.spec().mem_update();
  const size_t at = std::min(update.find('@'), update.size());
  const auto number = [](std::string_view part) {
    return static_cast<int64_t>(text::parse_unsigned(part).value_or(0));
  };
  document.integer("memory_update_margin", number(update.substr(0, at)));
  document.integer("memory_update_delay", number(update.substr(std::min(at + 1, update.size()))));
}

std::string tres_text(const JobRecord& job, bool allocated, const DisplayContext& context) {
  std::string out;
  if (!allocated || !job.nodes().empty())
    append_tres(out, allocated ? tres_of(job) : requested_tres_of(job), text::TresOrder::kById, context);
  return out;
}

template <typename Value>
std::optional<int64_t> if_has(bool has, Value value) {
  return has ? std::optional<int64_t>(static_cast<int64_t>(value)) : std::nullopt;
}

// The job itself as a step, in the way of v0.0.44.
void describe_whole_job_id(Document& document, const JobRecord& job) {
  document.begin_object("step_id");
  document.text("sluid", text::format_sluid(job));
  document.number("job_id", job.job_id());
  document.number("step_het_component", std::nullopt);
  document.text("step_id", "entire");
  document.end();
}

// Names of files in current shapes are patterns, with the expanded ones beside them.
void describe_files(Document& document, const JobRecord& job) {
  const JobSpec& spec = job.spec();
  const int shape = data_parser();
  const std::string& error = job.stderr_path().empty() ? job.stdout_path() : job.stderr_path();
  if (shape < 43) {
    document.text("standard_error", error);
    document.text("standard_input", job.stdin_path());
    document.text("standard_output", job.stdout_path());
    return;
  }
  const auto pattern = [&](const std::string& given) {
    return given.empty() || given.starts_with('/') ? given : spec.work_dir() + "/" + given;
  };
  const bool own_error = !spec.stderr_path().empty();
  const std::string usual = job.array_job_id() != 0 ? "slurm-%A_%a.out" : "slurm-%j.out";
  document.text("standard_error", pattern(spec.stderr_path()));
  document.text("standard_input", spec.stdin_path().empty() ? "/dev/null" : pattern(spec.stdin_path()));
  document.text("standard_output", spec.interactive()            ? std::string()
                                   : !spec.stdout_path().empty() ? pattern(spec.stdout_path())
                                                                 : usual);
  document.text("stderr_expanded", own_error ? error : std::string());
  document.text("stdin_expanded", job.stdin_path().empty() ? "/dev/null" : job.stdin_path());
  document.text("stdout_expanded", job.stdout_path());
}

}  // namespace

void describe_time(Document& document, std::string_view key, int64_t time) {
  document.number(key, time);
}

void describe_states(Document& document, std::string_view key, model::JobState state, bool completing) {
  document.begin_array(key);
  document.text(text::job_state_name(state));
  if (completing) document.text("COMPLETING");
  document.end();
}

void describe_job_states(Document& document, std::string_view key, const JobRecord& job) {
  if (!job.configuring() && !is_stopped(job))
    return describe_states(document, key, job.state(), job.completing());
  document.begin_array(key);
  for (const char* word : {"RUNNING", job.configuring() ? "CONFIGURING" : "STOPPED"}) document.text(word);
  document.end();
}

void describe_exit_code(Document& document, std::string_view key, int32_t wait_status) {
  const int signal = text::signal_of(wait_status);
  document.begin_object(key);
  document.begin_array("status");
  document.text(signal != 0 ? "SIGNALED" : wait_status != 0 ? "ERROR" : "SUCCESS");
  document.end();
  document.number("return_code", if_has(signal == 0, text::exit_status_of(wait_status)));
  document.begin_object("signal");
  document.number("id", if_has(signal != 0, signal));
  document.text("name", signal != 0 ? text::signal_name(signal) : std::string());
  document.end();
  document.end();
}

void describe_job(Document& document, const JobRecord& job, const uint32_t* waiting_task,
                  const DisplayContext& context, const NodeLayouts* layouts) {
  const JobSpec& spec = job.spec();
  document.begin_object();
  document.text("account", job.account());
  describe_time(document, "accrue_time", job.eligible_time());
  document.text("admin_comment", spec.admin_comment());
  document.text("allocating_node", spec.submit_host());
  describe_array(document, job, waiting_task, context);
  document.integer("association_id", job.association_id());
  document.text("batch_features", spec.batch_features());
  document.boolean("batch_flag", !spec.interactive());
  document.text("batch_host", job.batch_host());
  describe_flags(document, job);
  document.text("burst_buffer", spec.burst_buffer());
  document.text("burst_buffer_state", "");
  document.text("cluster", context.cluster_name);
  document.text("cluster_features", spec.cluster_features());
  std::string command;
  if (!spec.command().empty()) append_command(command, spec);
  document.text("command", command);
  document.text("comment", spec.comment());
  document.text("container", spec.container());
  document.text("container_id", spec.container_id());
  document.boolean("contiguous", spec.contiguous());
  document.integer("core_spec", spec.core_spec());
  document.integer("thread_spec", spec.has_thread_spec() ? spec.thread_spec() : 32766);  // Slurm's "none"
  document.number("cores_per_socket", if_has(spec.has_cores_per_socket(), spec.cores_per_socket()));
  document.real_number("billable_tres",
                       job.nodes().empty() ? std::nullopt : std::optional<double>(job.num_cpus()));
  document.number("cpus_per_task", spec.has_cpus_per_task() ? spec.cpus_per_task() : 1);
  describe_frequency(document, spec);
  document.text("cpus_per_tres",
                spec.has_cpus_per_gpu() ? "gres/gpu:" + std::to_string(spec.cpus_per_gpu()) : std::string());
  document.text("cron", spec.cron().spec());
  describe_time(document, "deadline", spec.deadline());
  document.number("delay_boot", int64_t{60} * spec.delay_boot_minutes());
  std::string dependency;
  append_dependencies(dependency, job);
  document.text("dependency", dependency == "(null)" ? "" : dependency);
  describe_exit_code(document, "derived_exit_code", job.derived_exit_code());
  describe_time(document, "eligible_time", job.eligible_time());
  describe_time(document, "end_time", end_time(job));
  document.text("excluded_nodes", spec.exclude());
  describe_exit_code(document, "exit_code", job.exit_code());
  document.text("extra", spec.extra());
  document.text("failed_node", "");
  document.text("features", spec.constraint());
  document.text("federation_origin", "");
  document.text("federation_siblings_active", "");
  document.text("federation_siblings_viable", "");
  describe_gres_detail(document, job);
  document.integer("group_id", job.gid());
  document.text("group_name", job.group_name());
  document.number("het_job_id", job.het_job_id());
  document.text("het_job_id_set", job.het_job_id_set());
  document.number("het_job_offset", job.het_job_offset());
  document.integer("job_id", job.job_id());
  describe_job_resources(document, job, layouts);
  document.begin_array("job_size_str");
  document.end();
  describe_job_states(document, "job_state", job);
  describe_time(document, "last_sched_evaluation", job.last_evaluation());
  document.text("licenses", spec.licenses());
  document.text("licenses_allocated",
                job.nodes().empty() ? std::string_view() : std::string_view(spec.licenses()));
  describe_mail_types(document, spec);
  document.text("mail_user", spec.mail_user().empty() ? job.user_name() : spec.mail_user());
  document.number("max_cpus", 0);
  document.number("max_nodes", job.state() == model::JOB_PENDING ? most_nodes(job, context.release) : 0);
  document.text("mcs_label", spec.mcs_label());
  document.text("memory_per_tres", spec.has_mem_per_gpu_mib()
                                       ? "gres/gpu:" + std::to_string(spec.mem_per_gpu_mib())
                                       : std::string());
  document.text("name", spec.name());
  document.text("network", spec.network());
  document.text("nodes", job.node_list());
  document.integer("nice", spec.nice());
  document.number("tasks_per_core", spec.ntasks_per_core(), !spec.has_ntasks_per_core());
  document.number("tasks_per_tres", spec.ntasks_per_gpu());
  document.number("tasks_per_node", spec.ntasks_per_node());
  document.number("tasks_per_socket", spec.ntasks_per_socket(), !spec.has_ntasks_per_socket());
  document.number("tasks_per_board", 0);
  document.number("cpus", job.num_cpus());
  document.number("node_count", job.num_nodes());
  document.number("tasks", job.num_tasks());
  document.text("partition", job.partition());
  document.text("prefer", spec.prefer());
  describe_memory(document, job);
  document.number("minimum_cpus_per_node", min_cpus_per_node(spec));
  document.number("minimum_tmp_disk_per_node", static_cast<int64_t>(spec.tmp_mib()));
  describe_time(document, "preempt_time", 0);
  describe_time(document, "preemptable_time", 0);
  document.number("pre_sus_time", job.pre_suspend_seconds());
  document.boolean("hold", job.priority() == 0 && job.state() == model::JOB_PENDING);
  document.number("priority", job.priority());
  describe_profile(document, spec);
  document.text("qos", job.qos());
  document.boolean("reboot", spec.reboot());
  document.text("required_nodes", spec.node_list());
  for (const char* key : {"required_switches", "minimum_switches"}) document.integer(key, spec.switches());
  document.boolean("requeue", job.requeue_allowed());
  describe_time(document, "resize_time", 0);
  document.integer("restart_cnt", job.restarts());
  document.text("resv_name", spec.reservation());
  document.text("scheduled_nodes", "");
  document.integer("segment_size", spec.segment_size());
  document.text("selinux_context", "");
  document.begin_array("shared");
  if (context.release < kSlurm26 && (spec.exclusive() || spec.oversubscribe()))
    document.text(spec.exclusive() ? "none" : "oversubscribe");
  document.end();
  describe_whole_job_id(document, job);
  document.integer("sockets_per_board", 0);
  document.number("sockets_per_node", if_has(spec.has_sockets_per_node(), spec.sockets_per_node()));
  describe_time(document, "start_time", job.start_time());
  document.text("state_description", job.reason_detail());
  document.text("state_reason", text::state_reason_name(job.reason()));
  describe_files(document, job);
  describe_time(document, "submit_time", job.submit_time());
  document.text("submit_line", spec.submit_line());
  describe_time(document, "suspend_time", job.suspend_time());
  document.text("system_comment", "");
  document.number("time_limit", job.time_limit_minutes(), job.time_limit_minutes() == kUnlimited);
  document.number("time_minimum", spec.time_min_minutes());
  document.number("threads_per_core", if_has(spec.has_threads_per_core(), spec.threads_per_core()));
  document.text("tres_bind", tres_bind_text(spec, kSlurm26));
  document.text("tres_freq", spec.gpu_freq().empty() ? std::string() : "gpu:" + spec.gpu_freq());
  document.text("tres_per_job", tres_per(spec.gpus()));
  document.text("tres_per_node", tres_per(spec.gres_per_node()));
  document.text("tres_per_socket", tres_per(spec.gpus_per_socket()));
  document.text("tres_per_task", tres_per_task_text(spec, kSlurm26));
  document.text("tres_req_str", tres_text(job, false, context));
  document.text("tres_alloc_str", tres_text(job, true, context));
  document.integer("user_id", job.uid());
  document.text("user_name", job.user_name());
  document.integer("maximum_switch_wait_time", spec.switches_wait_seconds());
  document.text("wckey", spec.wckey());
  document.text("current_working_directory", spec.work_dir());
  document.end();
}

}  // namespace minke::view
