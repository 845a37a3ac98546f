#include "cli/why.h"

#include <cstdio>
#include <ctime>

#include "cli/client.h"
#include "cli/display/why.h"
#include "cli/fetch.h"
#include "model/error.h"
#include "text/job_id.h"

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
  auto client = Client::connect();
  if (!client) return complain(client.error().message);
  DisplayContext context = display_context_from_environment();
  rpc::ClientMessage request;
  *request.mutable_explain_job()->mutable_job() = selector_of(*wanted);
  const auto answer = client->call(request);
  if (answer) {
    context.now = answer->explanation().now();
    write_out(json ? why_json(answer->explanation(), context) : why_report(answer->explanation(), context));
    return 0;
  }
  if (answer.error().code != model::kInvalidJobId) return complain(answer.error().message);
  rpc::QueryAccountingRequest query;
  *query.mutable_filter()->add_jobs() = selector_of(*wanted);
  query.mutable_filter()->set_all_states(true);
  const auto found = fetch_accounting(*client, query);
  if (!found && found.error().code != model::kInvalidJobId) return complain(found.error().message);
  if (!found || found->records.empty()) return complain("there is no job " + job);
  context.now = found->now != 0 ? found->now : std::time(nullptr);
  for (const rpc::AccountedJob* one : found->records)
    write_out(json ? why_ended_json(one->job(), context) : why_ended_report(one->job(), context));
  return 0;
}

}  // namespace minke::cli
