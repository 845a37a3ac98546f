#include "cli/why.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "api/accounting.pb.h"
#include "api/explanation.pb.h"
#include "cli/complain.h"
#include "engine/end_clues.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "helpers/end_details.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/job_id.h"
#include "text/translate.h"
#include "view/output.h"
#include "view/text.h"
#include "view/why.h"

namespace minke::cli {

using text::tr;

namespace {

model::JobRecord with_clues(engine::Engine& cluster, model::JobRecord ended) {
  engine::add_end_clues(cluster, ended);
  engine::add_output(cluster, ended);
  return ended;
}

// What the job's record, its use and its output tell.
void report(engine::Engine& cluster, const api::AccountedJob& accounted,
            const view::DisplayContext& context) {
  api::AccountedJob ended = accounted;
  engine::add_end_clues(cluster, *ended.mutable_job());
  engine::add_output(cluster, *ended.mutable_job());
  view::write_out(view::why_ended_report(ended.job(), context, helpers::details_of_end(ended)));
}

// An array's tasks in a line, and the first that failed.
int report_array(engine::Engine& cluster, const engine::AccountingRecords& found,
                 const view::DisplayContext& context) {
  std::vector<const model::JobRecord*> ended;
  const api::AccountedJob* first = nullptr;
  for (const api::AccountedJob* one : found.records) {
    if (!view::is_finished(one->job().state())) continue;
    ended.push_back(&one->job());
    const bool has_failed =
        one->job().state() != model::JOB_COMPLETE && one->job().state() != model::JOB_CANCELLED;
    if (first == nullptr && has_failed) first = one;
  }
  if (ended.empty()) return 0;
  const model::JobRecord& any = *ended.front();
  const uint32_t id = any.array_job_id() != 0 ? any.array_job_id() : any.job_id();
  view::write_out(tr("Array {} ({}) of {}", {std::to_string(id), view::job_name(any), any.user_name()}) +
                  "\n" + view::array_summary(ended));
  if (first == nullptr) return 0;
  view::write_out(tr("Those that failed, again: {}", {"minke redo --failed " + std::to_string(id)}) + "\n\n" +
                  tr("The first of them:") + "\n");
  report(cluster, *first, context);
  return 0;
}

// Where the accounting record does not answer: what the queue still has of a job that has ended. Whether it
// has any.
bool report_of_queue(engine::Engine& cluster, const api::JobFilter& filter, bool json,
                     view::DisplayContext& context) {
  const std::vector<model::JobRecord> known = engine::ended_in_queue(cluster, filter, context.now);
  for (const model::JobRecord& one : known) {
    api::AccountedJob ended;
    *ended.mutable_job() = one;
    json ? view::write_out(view::why_ended_json(with_clues(cluster, one), context))
         : report(cluster, ended, context);
  }
  return !known.empty();
}

// Of an array that is not over: what became of the tasks that have ended.
void report_ended_tasks(engine::Engine& cluster, const api::QueryAccountingRequest& query,
                        const view::DisplayContext& context) {
  const auto found = engine::fetch_accounting(cluster, query);
  if (!found) return;
  const bool has_ended =
      std::any_of(found->records.begin(), found->records.end(),
                  [](const api::AccountedJob* one) { return view::is_finished(one->job().state()); });
  if (!has_ended) return;
  view::write_out("\n");
  report_array(cluster, *found, context);
}

}  // namespace

int why(const std::string& job, bool json) {
  const auto wanted = text::parse_job_id(job);
  if (!wanted) return complain(tr("\"{}\" is no job id: write 12, or 12_3 for a task of an array", {job}));
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  view::DisplayContext context = view::display_context_from_environment();
  const auto ability = (*cluster)->explanations();
  if (!ability) return complain(ability.error().message);
  api::QueryAccountingRequest query;
  *query.mutable_filter()->add_jobs() = engine::selector_of(*wanted);
  query.mutable_filter()->set_all_states(true);
  query.set_with_steps(true);
  api::ExplainJobRequest request;
  *request.mutable_job() = engine::selector_of(*wanted);
  const auto answer = (*ability)->explain(request);
  if (answer) {
    context.now = answer->now();
    view::write_out(json ? view::why_json(*answer, context) : view::why_report(*answer, context));
    const bool is_array = answer->job().array_job_id() != 0 && wanted->tasks.ranges_size() == 0;
    if (is_array && !json) report_ended_tasks(**cluster, query, context);
    return 0;
  }
  if (answer.error().code != model::kInvalidJobId) return complain(answer.error().message);
  const auto found = engine::fetch_accounting(**cluster, query);
  if (!found && report_of_queue(**cluster, query.filter(), json, context)) return 0;
  if (!found && found.error().code != model::kInvalidJobId) return complain(found.error().message);
  if (!found || found->records.empty()) return complain(no_such_job(job));
  context.now = found->now != 0 ? found->now : std::time(nullptr);
  if (!json && found->records.size() > 1) return report_array(**cluster, *found, context);
  for (const api::AccountedJob* one : found->records)
    json ? view::write_out(view::why_ended_json(with_clues(**cluster, one->job()), context))
         : report(**cluster, *one, context);
  return 0;
}

}  // namespace minke::cli
