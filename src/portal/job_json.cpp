#include "portal/job_json.h"

#include <algorithm>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "text/job_id.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/state.h"
#include "text/tres.h"
#include "view/efficiency.h"
#include "view/sacct.h"
#include "view/text.h"

namespace minke::portal {
namespace {

constexpr size_t kMostTaskWords = 200;

Json limit_of(uint32_t minutes) {
  return minutes == view::kUnlimited ? Json() : Json(minutes);
}

std::string tres_text(const text::TresAmounts& amounts) {
  return text::format_tres(amounts, text::TresOrder::kById);
}

}  // namespace

Reply json_reply(const Json& value) {
  return {.body = value.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

uint64_t gpus_of(const model::JobRecord& job) {
  uint64_t plain = 0, typed = 0;
  for (const model::Gres& gres : job.tres_gres()) {
    if (gres.name() == "gpu") (gres.type().empty() ? plain : typed) += gres.count();
  }
  return std::max(plain, typed);
}

Json job_row(const model::JobRecord& job, int64_t now) {
  Json row = {{"id", text::format_job_id(job, kMostTaskWords)},
              {"job_id", job.job_id()},
              {"array_job_id", job.array_job_id()},
              {"task", job.has_array_task_id() ? Json(job.array_task_id()) : Json()},
              {"name", text::printable(view::job_name(job))},
              {"user", job.user_name()},
              {"account", job.account()},
              {"partition", job.partition()},
              {"qos", job.qos()},
              {"state", view::state_text(job)},
              {"reason", job.state() == model::JOB_PENDING ? view::reason_text(job) : std::string_view()}};
  row["submit"] = job.submit_time();
  row["eligible"] = job.eligible_time();
  row["start"] = job.start_time();
  row["end"] = view::end_time(job);
  row["elapsed"] = view::elapsed_seconds(job, now);
  row["limit_minutes"] = limit_of(job.time_limit_minutes());
  row["nodes"] = job.node_list();
  row["node_count"] = job.num_nodes();
  row["cpus"] = job.num_cpus();
  row["memory_mib"] = job.memory_mib();
  row["gpus"] = gpus_of(job);
  row["priority"] = job.priority();
  row["exit_code"] = text::format_exit_code(view::is_finished(job.state()) ? view::accounted_exit_code(job)
                                                                           : job.exit_code());
  return row;
}

Json job_details(const model::JobRecord& job) {
  const model::JobSpec& spec = job.spec();
  std::string dependencies, command;
  if (spec.dependencies_size() > 0) view::append_dependencies(dependencies, job);
  view::append_command(command, spec);
  const bool has_notes = job.has_notes();
  return {{"work_dir", text::printable(spec.work_dir())},
          {"command", command == "(null)" ? "" : text::printable(command)},
          {"submit_line", text::printable(spec.submit_line())},
          {"submit_host", text::printable(spec.submit_host())},
          {"comment",
           text::printable(has_notes && job.notes().has_comment() ? job.notes().comment() : spec.comment())},
          {"admin_comment", text::printable(has_notes ? job.notes().admin_comment() : spec.admin_comment())},
          {"stdout", text::printable(job.stdout_path())},
          {"stderr", text::printable(job.stderr_path())},
          {"dependencies", text::printable(dependencies)},
          {"constraint", text::printable(spec.constraint())},
          {"licenses", text::printable(spec.licenses())},
          {"reservation", text::printable(spec.reservation())},
          {"reason_detail", text::printable(job.reason_detail())},
          {"batch_host", job.batch_host()},
          {"restarts", job.restarts()},
          {"interactive", spec.interactive()},
          {"export", text::printable(spec.export_option())},
          {"requested", tres_text(view::requested_tres_of(job))},
          {"allocated",
           job.nodes_size() > 0 || view::is_finished(job.state()) ? tres_text(view::tres_of(job)) : ""},
          {"het_job_id", job.het_job_id()}};
}

Json efficiency_json(const api::AccountedJob& accounted, int64_t now, const std::string& note) {
  const view::Efficiency used = view::efficiency_of(accounted, now);
  return {{"wall_seconds", used.wall_seconds},
          {"cores", used.cores},
          {"cpu_seconds", used.cpu_seconds},
          {"core_seconds", used.core_seconds},
          {"cpu_percent", used.cpu_percent()},
          {"memory_kib", used.memory_kib},
          {"held_kib", used.held_kib},
          {"memory_percent", used.memory_percent()},
          {"gpus", used.gpus},
          {"gpu_percent", used.gpu_percent},
          {"gpu_memory_kib", used.gpu_memory_kib},
          {"joules", used.joules},
          {"note", text::printable(text::trim(note))}};
}

Json steps_json(const api::AccountedJob& accounted, int64_t now) {
  constexpr size_t kMostSteps = 1000;
  const api::AccountedJob* const job = &accounted;
  Json steps = Json::array();
  for (const view::SacctLine& line : view::sacct_lines({&job, 1}, {})) {  // in sacct's order
    if (line.step == nullptr) continue;
    if (steps.size() >= kMostSteps) break;
    const model::StepRecord& step = *line.step;
    const int64_t end = step.end_time() != 0 ? step.end_time() : now;
    steps.push_back(
        {{"id", text::format_step_id(step)},
         {"name", text::printable(step.name())},
         {"state", view::step_state_text(step)},
         {"start", step.start_time()},
         {"end", step.end_time()},
         {"elapsed", step.start_time() == 0 ? 0 : std::max<int64_t>(0, end - step.start_time())},
         {"nodes", step.node_list()},
         {"tasks", step.num_tasks()},
         {"cpus", step.num_cpus()},
         {"cpu_seconds",
          static_cast<double>(step.usage().user_microseconds() + step.usage().system_microseconds()) / 1e6},
         {"max_rss_kib", step.usage().max_rss_kib()},
         {"exit_code", text::format_exit_code(step.exit_code())}});
  }
  return steps;
}

}  // namespace minke::portal
