// Jobs for --json, and the common parts of all documents.
#include "view/document/records.h"

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/version.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "text/dependency.h"
#include "text/number.h"
#include "text/signal_name.h"
#include "text/state.h"
#include "text/tres.h"

namespace minke::view {
namespace {

using model::JobRecord;
using model::JobSpec;

std::string tres_per(const google::protobuf::RepeatedPtrField<model::Gres>& gres) {
  std::string out;
  append_gres_request(out, gres, "");
  return out;
}

void describe_flags(Document& document, const JobRecord& job) {
  document.begin_array("flags");
  if (job.state() == model::JOB_RUNNING || job.start_time() != 0) document.text("JOB_WAS_RUNNING");
  if (job.spec().account().empty()) document.text("USING_DEFAULT_ACCOUNT");
  if (job.spec().partition().empty()) document.text("USING_DEFAULT_PARTITION");
  document.end();
}

void describe_resources(Document& document, const JobRecord& job) {
  if (job.nodes().empty()) return;
  document.begin_object("job_resources");
  document.begin_array("select_type");
  document.text("CPU");
  document.text("MEMORY");
  document.end();
  document.begin_object("nodes");
  document.integer("count", job.nodes_size());
  document.begin_array("select_type");
  document.text("AVAILABLE");
  document.end();
  document.text("list", job.node_list());
  document.boolean("whole", job.spec().exclusive());
  document.begin_array("allocation");
  int64_t index = 0;
  for (const model::NodeAllocation& node : job.nodes()) {
    document.begin_object();
    document.integer("index", index++);
    document.text("name", node.node());
    document.begin_object("cpus");
    document.integer("count", node.cpus());
    document.integer("used", node.cpus());
    document.end();
    document.begin_object("memory");
    document.integer("used", static_cast<int64_t>(node.memory_mib()));
    document.integer("allocated", static_cast<int64_t>(node.memory_mib()));
    document.end();
    document.begin_array("sockets");
    document.end();
    document.end();
  }
  document.end();
  document.end();
  document.integer("cpus", job.num_cpus());
  document.number("threads_per_core", std::nullopt);
  document.begin_array("crtype");
  document.end();
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

void describe_job_states(Document& document, const JobRecord& job) {
  if (!job.configuring()) return describe_states(document, "job_state", job.state(), job.completing());
  document.begin_array("job_state");
  for (const char* word : {"RUNNING", "CONFIGURING"}) document.text(word);
  document.end();
}

void describe_mail_types(Document& document, const JobSpec& spec) {
  document.begin_array("mail_type");
  for (std::string_view type : text::split(spec.mail_type(), ','))
    if (!type.empty() && type != "NONE") document.text(type);
  document.end();
}

void describe_array(Document& document, const JobRecord& job, const uint32_t* waiting_task,
                    const DisplayContext& context) {
  document.number("array_job_id", job.array_job_id());
  std::optional<int64_t> task;
  if (waiting_task != nullptr) task = *waiting_task;
  if (job.has_array_task_id()) task = job.array_task_id();
  document.number("array_task_id", task);
  document.number("array_max_tasks", job.array_pending().max_running());
  std::string tasks;
  if (!task && job.array_pending().ranges_size() > 0)
    append_task_ids(tasks, job, nullptr, context.task_list_limit);
  document.text("array_task_string", tasks);
}

void describe_memory(Document& document, const JobRecord& job) {
  const MemoryRequest memory = memory_request(job);
  const auto value = static_cast<int64_t>(memory.mebibytes);
  document.number("memory_per_cpu", memory.per_cpu ? std::optional(value) : std::nullopt);
  document.number("memory_per_node", memory.per_cpu ? std::nullopt : std::optional(value));
}

std::string tres_text(const JobRecord& job, bool allocated, const DisplayContext& context) {
  std::string out;
  if (!allocated || !job.nodes().empty()) append_tres(out, tres_of(job), text::TresOrder::kById, context);
  return out;
}

template <typename Value>
std::optional<int64_t> if_has(bool has, Value value) {
  return has ? std::optional<int64_t>(static_cast<int64_t>(value)) : std::nullopt;
}

}  // namespace

Status check_data_parser(std::string_view value) {
  std::string_view name = value.substr(0, value.find('+'));
  if (name.starts_with("data_parser/")) name.remove_prefix(12);
  if (name.empty() || name == "v0.0.42") return {};
  return failure("Invalid data_parser plugin requested: " + std::string(name) +
                 " (the shape that is written here is that of v0.0.42)");
}

void describe_time(Document& document, std::string_view key, int64_t time) {
  document.number(key, time);
}

void describe_states(Document& document, std::string_view key, model::JobState state, bool completing) {
  document.begin_array(key);
  document.text(text::job_state_name(state));
  if (completing) document.text("COMPLETING");
  document.end();
}

void describe_exit_code(Document& document, std::string_view key, int32_t wait_status, bool has_ended) {
  const int signal = text::signal_of(wait_status);
  document.begin_object(key);
  document.begin_array("status");
  document.text(signal != 0 ? "SIGNALED" : wait_status != 0 ? "ERROR" : has_ended ? "SUCCESS" : "PENDING");
  document.end();
  document.number("return_code", text::exit_status_of(wait_status));
  document.begin_object("signal");
  document.number("id", if_has(signal != 0, signal));
  document.text("name", signal != 0 ? text::signal_name(signal) : std::string());
  document.end();
  document.end();
}

void describe_job(Document& document, const JobRecord& job, const uint32_t* waiting_task,
                  const DisplayContext& context) {
  const JobSpec& spec = job.spec();
  const bool ended = is_finished(job.state());
  document.begin_object();
  document.text("account", job.account());
  describe_time(document, "accrue_time", job.eligible_time());
  document.text("admin_comment", spec.admin_comment());
  document.text("allocating_node", spec.submit_host());
  describe_array(document, job, waiting_task, context);
  document.integer("association_id", 0);
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
  document.number("cpus_per_task", if_has(spec.has_cpus_per_task(), spec.cpus_per_task()));
  document.number("cpu_frequency_minimum", std::nullopt);
  document.number("cpu_frequency_maximum", std::nullopt);
  document.number("cpu_frequency_governor", std::nullopt);
  document.text("cpus_per_tres",
                spec.has_cpus_per_gpu() ? "gres/gpu:" + std::to_string(spec.cpus_per_gpu()) : std::string());
  document.text("cron", "");
  describe_time(document, "deadline", spec.deadline());
  document.number("delay_boot", int64_t{60} * spec.delay_boot_minutes());
  std::string dependency;
  append_dependencies(dependency, job);
  document.text("dependency", dependency == "(null)" ? "" : dependency);
  describe_exit_code(document, "derived_exit_code", job.derived_exit_code(), ended);
  describe_time(document, "eligible_time", job.eligible_time());
  describe_time(document, "end_time", end_time(job));
  document.text("excluded_nodes", spec.exclude());
  describe_exit_code(document, "exit_code", job.exit_code(), ended);
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
  describe_resources(document, job);
  document.begin_array("job_size_str");
  document.end();
  describe_job_states(document, job);
  describe_time(document, "last_sched_evaluation", 0);
  document.text("licenses", spec.licenses());
  document.text("licenses_allocated",
                job.nodes().empty() ? std::string_view() : std::string_view(spec.licenses()));
  describe_mail_types(document, spec);
  document.text("mail_user", spec.mail_user());
  document.number("max_cpus", 0);
  document.number("max_nodes", if_has(true, spec.has_max_nodes() ? spec.max_nodes() : 0));
  document.text("mcs_label", spec.mcs_label());
  document.text("memory_per_tres", spec.has_mem_per_gpu_mib()
                                       ? "gres/gpu:" + std::to_string(spec.mem_per_gpu_mib())
                                       : std::string());
  document.text("name", spec.name());
  document.text("network", spec.network());
  document.text("nodes", job.node_list());
  document.integer("nice", spec.nice());
  document.number("tasks_per_core", if_has(spec.has_ntasks_per_core(), spec.ntasks_per_core()));
  document.number("tasks_per_tres", if_has(spec.has_ntasks_per_gpu(), spec.ntasks_per_gpu()));
  document.number("tasks_per_node", spec.ntasks_per_node());
  document.number("tasks_per_socket", if_has(spec.has_ntasks_per_socket(), spec.ntasks_per_socket()));
  document.number("tasks_per_board", 0);
  document.number("cpus", job.num_cpus());
  document.number("node_count", job.num_nodes());
  document.number("tasks", job.num_tasks());
  document.text("partition", job.partition());
  document.text("prefer", spec.prefer());
  describe_memory(document, job);
  document.number("minimum_cpus_per_node", min_cpus_per_node(spec));
  document.number("minimum_tmp_disk_per_node", static_cast<int64_t>(spec.tmp_mib()));
  document.begin_object("power");
  document.begin_array("flags");
  document.end();
  document.end();
  describe_time(document, "preempt_time", 0);
  describe_time(document, "preemptable_time", 0);
  document.number("pre_sus_time", job.pre_suspend_seconds());
  document.boolean("hold", job.priority() == 0 && job.state() == model::JOB_PENDING);
  document.number("priority", job.priority());
  document.begin_array("priority_by_partition");
  document.end();
  document.begin_array("profile");
  document.text("NOT_SET");
  document.end();
  document.text("qos", job.qos());
  document.boolean("reboot", spec.reboot());
  document.text("required_nodes", spec.node_list());
  document.integer("required_switches", spec.switches());
  document.boolean("requeue", job.requeue_allowed());
  describe_time(document, "resize_time", 0);
  document.integer("restart_cnt", job.restarts());
  document.text("resv_name", spec.reservation());
  document.text("scheduled_nodes", "");
  document.text("selinux_context", "");
  document.begin_array("shared");
  if (spec.exclusive() || spec.oversubscribe()) document.text(spec.exclusive() ? "none" : "oversubscribe");
  document.end();
  document.integer("sockets_per_board", 0);
  document.number("sockets_per_node", if_has(spec.has_sockets_per_node(), spec.sockets_per_node()));
  describe_time(document, "start_time", job.start_time());
  document.text("state_description", job.reason_detail());
  document.text("state_reason", reason_text(job));
  document.text("standard_error", job.stderr_path().empty() ? job.stdout_path() : job.stderr_path());
  document.text("standard_input", job.stdin_path());
  document.text("standard_output", job.stdout_path());
  document.text("stderr_expanded", job.stderr_path().empty() ? job.stdout_path() : job.stderr_path());
  document.text("stdin_expanded", job.stdin_path());
  document.text("stdout_expanded", job.stdout_path());
  describe_time(document, "submit_time", job.submit_time());
  describe_time(document, "suspend_time", job.suspend_time());
  document.text("system_comment", "");
  document.number("time_limit", job.time_limit_minutes(), job.time_limit_minutes() == kUnlimited);
  document.number("time_minimum", spec.time_min_minutes());
  document.number("threads_per_core", if_has(spec.has_threads_per_core(), spec.threads_per_core()));
  document.text("tres_bind", spec.tres_bind());
  document.text("tres_freq", spec.gpu_freq());
  document.text("tres_per_job", tres_per(spec.gpus()));
  document.text("tres_per_node", tres_per(spec.gres_per_node()));
  document.text("tres_per_socket", tres_per(spec.gpus_per_socket()));
  document.text("tres_per_task", tres_per(spec.gpus_per_task()));
  document.text("tres_req_str", tres_text(job, false, context));
  document.text("tres_alloc_str", tres_text(job, true, context));
  document.integer("user_id", job.uid());
  document.text("user_name", job.user_name());
  document.integer("maximum_switch_wait_time", spec.switches_wait_seconds());
  document.text("wckey", spec.wckey());
  document.text("current_working_directory", spec.work_dir());
  document.end();
}

DocumentOrigin document_origin(int argc, char** argv) {
  DocumentOrigin origin;
  origin.command.assign(argv, argv + argc);
  origin.user = user_name_of(getuid());
  const group* entry = getgrgid(getgid());
  origin.group = entry != nullptr ? entry->gr_name : std::to_string(getgid());
  if (const char* terminal = ttyname(STDERR_FILENO)) origin.terminal = terminal;
  return origin;
}

void describe_origin(Document& document, const DocumentOrigin& origin, const DisplayContext& context) {
  document.begin_object("meta");
  document.begin_object("plugin");
  document.text("type", "");
  document.text("name", "");
  document.text("data_parser", kDataParser);
  document.text("accounting_storage", "accounting_storage/minke");
  document.end();
  document.begin_object("client");
  document.text("source", origin.terminal);
  document.text("user", origin.user);
  document.text("group", origin.group);
  document.end();
  document.begin_array("command");
  for (const std::string& word : origin.command) document.text(word);
  document.end();
  document.begin_object("slurm");
  document.begin_object("version");
  const auto parts = text::split(kSlurmVersion, '.');
  document.text("major", parts.at(0));
  document.text("micro", parts.at(2));
  document.text("minor", parts.at(1));
  document.end();
  document.text("release", kSlurmVersion);
  document.text("cluster", context.cluster_name);
  document.end();
  document.end();
  document.begin_array("errors");
  document.end();
  document.begin_array("warnings");
  document.end();
}

}  // namespace minke::view
