#include "cli/why.h"

#include <cstdio>
#include <ctime>

#include "api/accounting.pb.h"
#include "api/explanation.pb.h"
#include "engine/end_clues.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "text/job_id.h"
#include "view/output.h"
#include "view/text.h"
#include "view/why.h"

namespace minke::cli {
namespace {

int complain(const std::string& message) {
  std::fprintf(stderr, "minke: error: %s\n", message.c_str());
  return 1;
}

}  // namespace

int why(const std::string& job, bool json) {
  const auto wanted = text::parse_job_id(job);
  if (!wanted) return complain("\"" + job + "\" is no job id");
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  view::DisplayContext context = view::display_context_from_environment();
  const auto ability = (*cluster)->explanations();
  if (!ability) return complain(ability.error().message);
  api::ExplainJobRequest request;
  *request.mutable_job() = engine::selector_of(*wanted);
  const auto answer = (*ability)->explain(request);
  if (answer) {
    context.now = answer->now();
    view::write_out(json ? view::why_json(*answer, context) : view::why_report(*answer, context));
    return 0;
  }
  if (answer.error().code != model::kInvalidJobId) return complain(answer.error().message);
  api::QueryAccountingRequest query;
  *query.mutable_filter()->add_jobs() = engine::selector_of(*wanted);
  query.mutable_filter()->set_all_states(true);
  const auto found = engine::fetch_accounting(**cluster, query);
  if (!found && found.error().code != model::kInvalidJobId) return complain(found.error().message);
  if (!found || found->records.empty()) return complain("there is no job " + job);
  context.now = found->now != 0 ? found->now : std::time(nullptr);
  for (const api::AccountedJob* one : found->records) {
    model::JobRecord ended = one->job();
    engine::add_end_clues(**cluster, ended);
    view::write_out(json ? view::why_ended_json(ended, context) : view::why_ended_report(ended, context));
  }
  return 0;
}

}  // namespace minke::cli
