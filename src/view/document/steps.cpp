// Running steps as `squeue --steps --json` and `scontrol show step --json` have them, and states of jobs
// alone.
#include <algorithm>
#include <optional>
#include <string>

#include "api/step_usage.pb.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "text/sluid.h"
#include "text/state.h"
#include "text/tres.h"
#include "view/document/records.h"

namespace minke::view {

void describe_queued_step(Document& document, const model::StepRecord& step, const model::JobRecord& job,
                          const DisplayContext& context) {
  constexpr int64_t kNoTask = 4294967294;
  document.begin_object();
  document.begin_object("array");
  document.integer("job_id", job.array_job_id());
  document.integer("task_id", job.has_array_task_id() ? int64_t{job.array_task_id()} : kNoTask);
  document.end();
  document.text("cluster", context.cluster_name);
  document.text("container", step.container());
  document.begin_object("cpu");
  document.begin_object("frequency");
  // Steps of srun have what it asked for, and others none.
  const auto frequency = step.kind() == model::STEP_NORMAL ? std::nullopt : std::optional<int64_t>(0);
  for (const char* key : {"min", "max", "governor"}) document.number(key, frequency);
  document.end();
  document.end();
  document.begin_object("tres");
  document.begin_object("per");
  std::string gres;
  append_gres_request(gres, step.tres_gres(), "");
  document.text(step.kind() == model::STEP_NORMAL ? "node" : "step", tres_in_words(gres, kSlurm26));
  document.end();
  std::string allocated;
  append_tres(allocated, tres_of(step), text::TresOrder::kByName, context);
  document.text("allocation", allocated);
  document.end();
  document.text("name", step.name());
  document.text("network", job.spec().network());
  document.text("nodes", step.node_list());
  document.integer("number_cpus", step.num_cpus());
  document.integer("number_tasks", step.num_tasks());
  document.text("partition", job.partition());
  document.begin_object("time");
  document.number("running",
                  step.start_time() == 0 ? 0 : std::max<int64_t>(0, context.now - step.start_time()));
  document.number("start", step.start_time());
  document.number("limit", step.time_limit_minutes(), !step.has_time_limit_minutes());
  document.end();
  document.begin_object("srun");
  document.text("host", step.srun_host());
  document.integer("pid", step.srun_pid());
  document.end();
  describe_states(document, "state", step.state(), false);
  std::string id;
  append_step_id(id, step, true, &job);
  document.text("sluid", text::format_sluid(job));
  document.text("id", id);
  document.text("submit_line", step.submit_line());
  document.begin_object("task");
  document.text("distribution", step.kind() != model::STEP_NORMAL ? "Unknown"
                                : step.distribution().empty()     ? "Block"
                                                                  : step.distribution());
  document.end();
  document.text("user", job.user_name());
  document.end();
}

void describe_listed_process(Document& document, const api::PidsReply::Process& process) {
  const auto number = [](bool known, uint32_t value) {
    return known ? std::optional<int64_t>(value) : std::nullopt;
  };
  document.begin_object();
  document.number("global_task_id", number(process.has_global_id(), process.global_id()));
  document.number("local_task_id", number(process.has_local_id(), process.local_id()));
  document.integer("job_id", process.job_id());
  document.integer("pid", process.pid());
  document.text("step_id", text::step_name(process.kind(), process.step_id()));
  document.end();
}

void describe_listed_step(Document& document, const model::StepRecord& step) {
  document.begin_object();
  document.integer("job_id", step.job_id());
  document.text("step_id", text::step_name(step.kind(), step.step_id()));
  document.end();
}

void describe_job_state(Document& document, const model::JobRecord& job, const uint32_t* waiting_task,
                        const DisplayContext& context) {
  document.begin_object();
  std::string id;
  append_job_id(id, job, waiting_task, context.task_list_limit);
  document.text("job_id", id);
  describe_job_states(document, "state", job);
  document.end();
}

}  // namespace minke::view
