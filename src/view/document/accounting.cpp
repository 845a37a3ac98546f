// The accounting record as --json shows it.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/nobody.h"
#include "model/step_record.pb.h"
#include "model/usage.pb.h"
#include "text/hostlist.h"
#include "text/sluid.h"
#include "text/state.h"
#include "text/tres.h"
#include "view/document/records.h"
#include "view/metered.h"

namespace minke::view {
namespace {

using model::JobRecord;
using model::StepRecord;

constexpr uint64_t kMicroseconds = 1000000;

void describe_cpu_time(Document& document, std::string_view key, uint64_t microseconds) {
  document.begin_object(key);
  document.integer("seconds", static_cast<int64_t>(microseconds / kMicroseconds));
  document.integer("microseconds", static_cast<int64_t>(microseconds % kMicroseconds));
  document.end();
}

void describe_cpu_times(Document& document, const model::Usage& usage) {
  describe_cpu_time(document, "system", usage.system_microseconds());
  describe_cpu_time(document, "total", usage.system_microseconds() + usage.user_microseconds());
  describe_cpu_time(document, "user", usage.user_microseconds());
}

// Slurm's numbers of the TRES. Those of gres are assigned as they are configured; gres/gpu comes first.
constexpr int64_t kCpu = 1, kMemory = 2, kNode = 4, kBilling = 5, kDisk = 6, kPages = 8, kFirstGres = 1001;

void describe_tres(Document& document, std::string_view type, std::string_view name, int64_t id,
                   uint64_t count) {
  document.begin_object();
  document.text("type", type);
  document.text("name", name);
  document.integer("id", id);
  document.integer("count", static_cast<int64_t>(count));
  document.end();
}

void describe_tres_list(Document& document, std::string_view key, const text::TresAmounts& amounts) {
  document.begin_array(key);
  describe_tres(document, "cpu", "", kCpu, amounts.cpus);
  if (amounts.memory_mib != 0) describe_tres(document, "mem", "", kMemory, amounts.memory_mib);
  describe_tres(document, "node", "", kNode, amounts.nodes);
  if (amounts.billing) describe_tres(document, "billing", "", kBilling, *amounts.billing);
  int64_t id = kFirstGres;
  std::vector<std::pair<std::string, uint64_t>> gres;  // each once, whatever its types
  for (const model::Gres& one : amounts.gres) {
    const auto known =
        std::find_if(gres.begin(), gres.end(), [&](const auto& other) { return other.first == one.name(); });
    if (known == gres.end()) {
      gres.emplace_back(one.name(), one.count());
    } else {
      known->second += one.count();
    }
  }
  for (const auto& [name, count] : gres) describe_tres(document, "gres", name, id++, count);
  document.end();
}

void describe_consumed(Document& document, const StepRecord& step) {
  const auto list = [&](std::string_view key, auto amount) {
    document.begin_array(key);
    describe_tres(document, "cpu", "", kCpu, amount(Metered::kCpu) / 1000);
    describe_tres(document, "mem", "", kMemory, amount(Metered::kRss) * 1024);
    describe_tres(document, "fs", "disk", kDisk, amount(Metered::kRead));
    describe_tres(document, "pages", "", kPages, amount(Metered::kFaults));
    document.end();
  };
  document.begin_object("consumed");
  list("max", [&](Metered what) { return extreme_usage(step, what, Reach::kMost).value(); });
  list("min", [&](Metered what) { return extreme_usage(step, what, Reach::kLeast).value(); });
  list("average", [&](Metered what) { return average_usage(step, what); });
  list("total", [&](Metered what) { return total_usage(step, what); });
  document.end();
}

// Before v0.0.43 with its directory.
std::string stdout_pattern(const JobRecord& job) {
  const model::JobSpec& spec = job.spec();
  if (spec.interactive()) return {};
  std::string pattern = !spec.stdout_path().empty() ? spec.stdout_path()
                        : job.array_job_id() != 0   ? "slurm-%A_%a.out"
                                                    : "slurm-%j.out";
  if (data_parser() < 43 && !pattern.starts_with('/')) pattern = spec.work_dir() + "/" + pattern;
  return pattern;
}

void empty_list(Document& document, std::string_view key) {
  document.begin_array(key);
  document.end();
}

void describe_times(Document& document, const JobRecord& job, const DisplayContext& context) {
  const bool pending = job.state() == model::JOB_PENDING;
  document.begin_object("time");
  document.integer("elapsed", elapsed_seconds(job, context.now));
  document.integer("eligible", job.eligible_time());
  document.integer("end", is_finished(job.state()) ? job.end_time() : 0);
  const int64_t waited_until = pending                 ? context.now
                               : job.start_time() != 0 ? job.start_time()
                                                       : job.end_time();
  document.number("planned",
                  job.eligible_time() == 0 ? 0 : std::max<int64_t>(0, waited_until - job.eligible_time()));
  document.integer("start", pending ? 0 : job.start_time());
  document.integer("submission", job.submit_time());
  document.integer("suspended", job.suspended_seconds());
  describe_cpu_times(document, job.usage());
  document.number("limit", job.time_limit_minutes(), job.time_limit_minutes() == kUnlimited);
  document.end();
}

}  // namespace

void describe_step(Document& document, const StepRecord& step, const DisplayContext& context) {
  const bool ended = is_finished(step.state());
  const int64_t until = step.end_time() != 0 ? step.end_time() : context.now;
  document.begin_object();
  document.begin_object("time");
  document.integer("elapsed", step.start_time() == 0 ? 0 : std::max<int64_t>(0, until - step.start_time()));
  describe_time(document, "end", ended ? step.end_time() : 0);
  describe_time(document, "start", step.start_time());
  document.integer("suspended", 0);
  document.number("limit", step.time_limit_minutes(), !step.has_time_limit_minutes());
  describe_cpu_times(document, step.usage());
  document.end();
  describe_exit_code(document, "exit_code", step.exit_code());
  document.begin_object("nodes");
  document.integer("count", step.num_nodes());
  document.text("range", step.node_list());
  document.begin_array("list");
  if (auto hosts = text::expand_hostlist(step.node_list()))
    for (const std::string& host : *hosts) document.text(host);
  document.end();
  document.end();
  document.begin_object("tasks");
  document.integer("count", step.num_tasks());
  document.end();
  document.text("pid", "");
  document.text("submit_line", step.submit_line());
  document.begin_object("CPU");
  document.begin_object("requested_frequency");
  const bool of_srun = step.kind() == model::STEP_NORMAL;
  for (const char* key : {"min", "max"})
    document.number(key, of_srun ? std::nullopt : std::optional<int64_t>(0));
  document.end();
  document.text("governor", of_srun ? "Unknown" : "0");
  document.end();
  document.text("kill_request_user", "");
  describe_states(document, "state", step.state(), false);
  document.begin_object("statistics");
  document.begin_object("CPU");
  document.integer("actual_frequency", 0);
  document.end();
  document.begin_object("energy");
  document.number("consumed", 0);
  document.end();
  document.end();
  std::string id;
  append_step_id(id, step, true);
  document.begin_object("step");
  document.text("id", id);
  document.text("name", step.name());
  document.text("stderr", "");
  document.text("stdin", "");
  document.text("stdout", "");
  document.end();
  document.begin_object("task");
  document.text("distribution", step.kind() != model::STEP_NORMAL ? "Unknown"
                                : step.distribution().empty()     ? "Block"
                                                                  : step.distribution());
  document.end();
  document.begin_object("tres");
  document.begin_object("requested");
  for (const char* key : {"max", "min", "average", "total"}) empty_list(document, key);
  document.end();
  describe_consumed(document, step);
  describe_tres_list(document, "allocated", tres_of(step));
  document.end();
  document.end();
}

void describe_accounted_job(Document& document, const JobRecord& job,
                            std::span<const StepRecord* const> steps, const DisplayContext& context) {
  const model::JobSpec& spec = job.spec();
  const bool was_allocated = !job.nodes().empty() || !job.node_list().empty();
  document.begin_object();
  document.text("account", job.account());
  document.begin_object("comment");
  document.text("administrator", spec.admin_comment());
  document.text("job", spec.comment());
  document.text("system", "");
  document.end();
  document.integer("allocation_nodes", was_allocated ? job.num_nodes() : 0);
  document.begin_object("array");
  document.integer("job_id", job.array_job_id());
  document.begin_object("limits");
  document.begin_object("max");
  document.begin_object("running");
  document.integer("tasks", job.array_pending().max_running());
  document.end();
  document.end();
  document.end();
  document.number("task_id",
                  job.has_array_task_id() ? std::optional<int64_t>(job.array_task_id()) : std::nullopt);
  std::string tasks;
  if (job.array_pending().ranges_size() > 0) append_task_ids(tasks, job, nullptr, context.task_list_limit);
  document.text("task", tasks);
  document.end();
  document.begin_object("association");
  document.text("account", job.account());
  document.text("cluster", context.cluster_name);
  document.text("partition", "");
  document.text("user", job.user_name());
  document.integer("id", job.association_id());
  document.end();
  document.text("block", "");
  document.text("cluster", context.cluster_name);
  document.text("constraints", spec.constraint());
  document.text("container", spec.container());
  for (const char* key : {"sluid", "original_sluid"}) document.text(key, text::format_sluid(job));
  describe_exit_code(document, "derived_exit_code", job.derived_exit_code());
  describe_times(document, job, context);
  describe_exit_code(document, "exit_code", accounted_exit_code(job));
  document.text("extra", spec.extra());
  document.integer("segment_size", spec.segment_size());
  document.text("failed_node", "");
  const bool started = job.start_time() != 0 && job.state() != model::JOB_PENDING;
  document.text("flags", started ? "STARTED_ON_SCHEDULE,START_RECEIVED" : "START_RECEIVED");
  document.text("exclusive", spec.exclusive() ? "NODE" : "NO");
  document.text("oversubscribe", spec.oversubscribe() ? "YES" : "NO");
  document.text("group", job.group_name());
  document.begin_object("het");
  document.integer("job_id", job.het_job_id());
  document.number("job_offset",
                  job.het_job_id() == 0 ? std::nullopt : std::optional<int64_t>(job.het_job_offset()));
  document.end();
  document.integer("job_id", job.job_id());
  document.text("name", spec.name());
  document.text("licenses", spec.licenses());
  document.begin_object("mcs");
  document.text("label", spec.mcs_label());
  document.end();
  document.text("nodes",
                was_allocated ? std::string_view(job.node_list()) : std::string_view("None assigned"));
  document.text("partition", job.partition());
  document.boolean("hold", job.priority() == 0);
  document.number("priority", job.priority());
  document.text("qos", job.qos());
  document.text("qosreq", spec.qos());
  document.begin_object("required");
  const text::TresAmounts asked = requested_tres_of(job);
  document.integer("CPUs", static_cast<int64_t>(asked.cpus));
  const MemoryRequest memory = memory_request(job);
  const auto mebibytes = static_cast<int64_t>(memory.mebibytes);
  document.number("memory_per_cpu", memory.per_cpu ? std::optional(mebibytes) : std::nullopt);
  document.number("memory_per_node", memory.per_cpu ? std::nullopt : std::optional(mebibytes));
  document.end();
  document.text("kill_request_user",
                job.state() == model::JOB_CANCELLED && job.cancelled_by_uid() != model::kNobody
                    ? user_name_of(job.cancelled_by_uid())
                    : std::string());
  document.integer("restart_cnt", job.restarts());
  document.begin_object("reservation");
  document.integer("id", 0);
  document.text("name", spec.reservation());
  document.end();
  document.text("script", "");
  document.text("stdin_expanded", job.stdin_path());
  document.text("stdout_expanded", job.stdout_path());
  document.text("stderr_expanded", spec.stderr_path().empty() ? std::string() : job.stderr_path());
  document.text("stdout", stdout_pattern(job));
  document.text("stderr", spec.stderr_path());
  document.text("stdin", spec.stdin_path().empty() ? "/dev/null" : spec.stdin_path());
  document.begin_object("state");
  describe_states(document, "current", job.state(), false);
  document.text("reason", reason_text(job));
  document.end();
  document.begin_array("steps");
  for (const StepRecord* step : steps) describe_step(document, *step, context);
  document.end();
  document.text("submit_line", spec.submit_line());
  document.begin_object("tres");
  if (was_allocated) {
    describe_tres_list(document, "allocated", tres_of(job));
  } else {
    empty_list(document, "allocated");
  }
  describe_tres_list(document, "requested", asked);
  document.end();
  document.text("used_gres", "");
  document.text("user", job.user_name());
  document.begin_object("wckey");
  document.text("wckey", spec.wckey());
  empty_list(document, "flags");
  document.end();
  document.text("working_directory", spec.work_dir());
  document.end();
}

}  // namespace minke::view
