// One job: its record with steps, advice and array; its script; why it waits or ended; what was measured.
#include <algorithm>
#include <ctime>

#include "api/accounting.pb.h"
#include "api/explanation.pb.h"
#include "api/jobs.pb.h"
#include "api/measurements.pb.h"
#include "engine/end_clues.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/measured_usage.h"
#include "helpers/keep_metrics.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/measurement.pb.h"
#include "portal/desk.h"
#include "portal/found_job.h"
#include "portal/job_answers.h"
#include "portal/job_json.h"
#include "text/job_id.h"
#include "text/printable.h"
#include "view/advice.h"
#include "view/script_commands.h"
#include "view/text.h"
#include "view/training_metrics.h"
#include "view/why.h"

namespace minke::portal {
namespace {

constexpr size_t kMostScript = 1 << 20;
constexpr size_t kMostTasks = 10000;

tl::unexpected<Error> unknown_job() {
  return failure(std::string(model::slurm_error_text(model::kInvalidJobId)), model::kInvalidJobId);
}

// How many threads it has, where that is measured.
std::optional<view::ThreadsMeasured> threads_of(engine::Engine& cluster, const model::JobRecord& job) {
  const auto ability = cluster.measurements();
  if (!ability || job.state() == model::JOB_PENDING) return std::nullopt;
  api::QueryMeasurementsRequest query;
  query.mutable_filter()->add_jobs()->set_job_id(job.job_id());
  query.set_with_series(true);
  const auto answer = (*ability)->measured(query);
  if (!answer) return std::nullopt;
  for (const api::JobMeasurement& one : answer->jobs())
    if (one.job().job_id() == job.job_id()) return view::threads_measured(one.series());
  return std::nullopt;
}

Json modules_json(const std::string& script) {
  Json list = Json::array();
  for (const view::LoadedModule& one : view::modules_loaded(view::script_commands(script)))
    list.push_back(
        {{"name", text::printable(one.name)}, {"version", text::printable(one.version)}, {"line", one.line}});
  return list;
}

Json allocation_json(const model::JobRecord& job) {
  constexpr size_t kMostNodes = 1000;
  Json list = Json::array();
  for (const model::NodeAllocation& one : job.nodes()) {
    if (list.size() == kMostNodes) break;
    Json gpus = Json::array();
    for (const model::GresAllocation& gres : one.gres())
      if (gres.name() == "gpu")
        for (const uint32_t index : gres.indices()) gpus.push_back(index);
    list.push_back({{"node", one.node()},
                    {"cpus", one.cpus()},
                    {"cpu_ids", one.cpu_ids()},
                    {"memory_mib", one.memory_mib()},
                    {"gpus", std::move(gpus)}});
  }
  return list;
}

Json advice_json(engine::Engine& cluster, const api::AccountedJob& job, const std::string& script,
                 int64_t now) {
  Json list = Json::array();
  for (const view::Advice& one : view::advice_on(job, script, threads_of(cluster, job.job()), now)) {
    Json numbers = Json::object();
    for (const auto& [name, value] : one.numbers) numbers[std::string(name)] = value;
    list.push_back({{"rule", one.rule},
                    {"weight", view::weight_word(one.weight)},
                    {"about", one.about},
                    {"text", one.text},
                    {"numbers", std::move(numbers)}});
  }
  return list;
}

// What may be done with it now, for the page's buttons. The engine decides again.
Json actions_of(const model::JobRecord& job, const Desk& desk) {
  Json actions = Json::array();
  if (job.uid() != desk.uid() && desk.uid() != 0) return actions;
  if (view::is_finished(job.state())) {
    if (!job.spec().interactive()) actions.push_back("requeue");
    return actions;
  }
  actions.push_back("cancel");
  if (job.state() == model::JOB_PENDING) actions.push_back(job.priority() == 0 ? "release" : "hold");
  if (job.state() == model::JOB_RUNNING && job.requeue_allowed()) actions.push_back("requeue");
  actions.push_back("limit");
  return actions;
}

// What waits or runs has more to say of itself than its accounting record; and a real Slurm's record has no
// paths.
void complete_from_queue(engine::Engine& cluster, model::JobRecord& job) {
  const bool is_over = view::is_finished(job.state());
  if (is_over && !job.stdout_path().empty()) return;
  api::JobFilter filter;
  filter.set_all_states(true);
  filter.add_jobs()->set_job_id(job.job_id());
  const auto queued = engine::fetch_jobs(cluster, std::move(filter));
  if (!queued) return;
  for (const model::JobRecord* one : queued->records) {
    if (one->job_id() != job.job_id()) continue;
    if (is_over) {
      job.set_stdout_path(one->stdout_path());
      job.set_stderr_path(one->stderr_path());
      return;
    }
    const model::Usage usage = job.usage();
    const auto metrics = job.metrics();
    job = *one;
    if (!job.has_usage()) *job.mutable_usage() = usage;
    if (job.metrics().empty()) *job.mutable_metrics() = metrics;
    return;
  }
}

}  // namespace

Result<FoundJob> find_job(Call& call, bool with_steps) {
  const auto wanted = text::parse_job_id(call.text("job"));
  if (!wanted) return unknown_job();
  FoundJob found;
  api::QueryAccountingRequest query;
  *query.mutable_filter()->add_jobs() = engine::selector_of(*wanted);
  query.mutable_filter()->set_all_states(true);
  query.set_with_steps(with_steps);
  auto records = engine::fetch_accounting(call.cluster, query);
  if (!records) return failure(records.error());
  const api::AccountedJob* chosen = nullptr;
  for (const api::AccountedJob* job : records->records) {
    const bool exact = job->job().job_id() == wanted->job_id && wanted->tasks.ranges().empty();
    if (chosen == nullptr || exact) chosen = job;
  }
  if (chosen == nullptr) return unknown_job();
  found.now = records->now != 0 ? records->now : std::time(nullptr);
  found.accounted = *chosen;
  complete_from_queue(call.cluster, *found.accounted.mutable_job());
  engine::add_what_is_measured(call.cluster, found.accounted);
  if (with_steps) found.note = engine::add_what_was_measured(call.cluster, found.accounted);  // as seff
  return found;
}

Result<Reply> show_job(Call& call) {
  const auto found = find_job(call, true);
  if (!found) return failure(found.error());
  const model::JobRecord& job = found->accounted.job();
  const auto script = call.cluster.script(job.job_id());
  const std::string script_text = script ? *script : std::string();
  Json value = {{"now", found->now},
                {"job", job_row(job, found->now)},
                {"details", job_details(job)},
                {"efficiency", efficiency_json(found->accounted, found->now, found->note)},
                {"steps", steps_json(found->accounted, found->now)},
                {"advice", advice_json(call.cluster, found->accounted, script_text, found->now)},
                {"actions", actions_of(job, call.desk)},
                {"is_mine", job.uid() == call.desk.uid()},
                {"has_script", !script_text.empty()},
                {"modules", modules_json(script_text)},
                {"allocation", allocation_json(job)}};
  return json_reply(value);
}

Result<Reply> show_job_tasks(Call& call) {
  const auto wanted = text::parse_job_id(call.text("job"));
  if (!wanted) return unknown_job();
  api::QueryAccountingRequest query;
  query.mutable_filter()->add_jobs()->set_job_id(wanted->job_id);
  query.mutable_filter()->set_all_states(true);
  Json tasks = Json::array();
  std::string pending;
  const auto now = engine::for_each_accounted(call.cluster, query, [&](const api::AccountedJob& one) {
    const model::JobRecord& job = one.job();
    if (!job.has_array_task_id()) {
      if (job.array_pending().ranges_size() > 0) view::append_task_ids(pending, job, nullptr, 0);
      return;
    }
    if (tasks.size() >= kMostTasks) return;
    tasks.push_back({{"task", job.array_task_id()},
                     {"job_id", job.job_id()},
                     {"state", view::state_text(job)},
                     {"start", job.start_time()},
                     {"end", job.end_time()}});
  });
  if (!now) return failure(now.error());
  return json_reply({{"now", *now}, {"pending", pending}, {"tasks", std::move(tasks)}});
}

Result<Reply> show_script(Call& call) {
  const auto wanted = text::parse_job_id(call.text("job"));
  if (!wanted) return unknown_job();
  auto script = call.cluster.script(wanted->job_id);
  if (!script) return failure(script.error());
  const bool whole = script->size() <= kMostScript;
  if (!whole) script->resize(kMostScript);
  return json_reply({{"script", text::printable_lines(*script)}, {"whole", whole}});
}

Result<Reply> show_why(Call& call) {
  view::DisplayContext context;
  const auto wanted = text::parse_job_id(call.text("job"));
  if (!wanted) return unknown_job();
  const auto ability = call.cluster.explanations();
  if (ability) {
    api::ExplainJobRequest request;
    *request.mutable_job() = engine::selector_of(*wanted);
    const auto answer = (*ability)->explain(request);
    if (answer) {
      context.now = answer->now();
      return Reply{.body = view::why_json(*answer, context)};
    }
    if (answer.error().code != model::kInvalidJobId) return failure(answer.error());
  }
  const auto found = find_job(call, false);
  if (!found) return failure(found.error());
  model::JobRecord job = found->accounted.job();
  if (!view::is_finished(job.state())) return failure(ability ? Error{0, "not known"} : ability.error());
  engine::add_end_clues(call.cluster, job);
  engine::add_output(call.cluster, job);
  context.now = found->now;
  return Reply{.body = view::why_ended_json(job, context)};
}

// Files are read with this process's rights: of one's own jobs. Of others there is what was kept.
Result<Reply> show_metrics(Call& call) {
  const auto found = find_job(call, false);
  if (!found) return failure(found.error());
  const model::JobRecord& job = found->accounted.job();
  ml::MetricSet set;
  if (job.uid() == call.desk.uid() && job.start_time() != 0) {
    helpers::MetricSearch search = helpers::search_for(call.cluster, job);
    search.update();
    set = search.all();
  }
  const view::Metrics metrics = set.empty() ? job.metrics() : set.record(ml::MetricSet::kMaxSeries);
  return Reply{.body = view::metrics_json(job, metrics, set)};
}

}  // namespace minke::portal
