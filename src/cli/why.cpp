#include "cli/why.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "cli/client.h"
#include "cli/display/why.h"
#include "cli/fetch.h"
#include "model/error.h"
#include "text/job_id.h"
#include "text/number.h"

namespace minke::cli {
namespace {

int complain(const std::string& message) {
  std::fprintf(stderr, "minke: error: %s\n", message.c_str());
  return 1;
}

// The interpreter of a script's first line, as far as it is missing now: what the kernel did not find or
// could not execute ended the job with that error's number, as if it were the script's own.
std::string missing_interpreter(Client& client, const model::JobRecord& job) {
  constexpr int kOfShells = 127;  // env's, and that of a login shell's interpreter
  const int code = (job.exit_code() >> 8) & 0xff, error = code == kOfShells ? ENOENT : code;
  if (job.state() != model::JOB_FAILED || job.start_time() == 0 || job.spec().interactive()) return "";
  if ((job.exit_code() & 0x7f) != 0 || (error != ENOENT && error != EACCES && error != ENOEXEC)) return "";
  rpc::ClientMessage request;
  request.mutable_query_script()->set_job_id(job.job_id());
  const auto answer = client.call(std::move(request));
  if (!answer) return "";
  const std::string_view script = answer->script().script();
  if (!script.starts_with("#!")) return "";
  const std::string_view line = text::trim(script.substr(2, script.find('\n') - 2));
  const std::string interpreter(line.substr(0, line.find_first_of(" \t")));
  if (interpreter.empty() || ::access(interpreter.c_str(), X_OK) == 0) return "";
  return "its interpreter " + interpreter + ": " + std::strerror(error);
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
  for (const rpc::AccountedJob* one : found->records) {
    model::JobRecord ended = one->job();
    if (std::string missing = missing_interpreter(*client, ended); !missing.empty()) {
      ended.set_reason(model::FAIL_LAUNCH);
      ended.set_reason_detail(std::move(missing));
    }
    write_out(json ? why_ended_json(ended, context) : why_ended_report(ended, context));
  }
  return 0;
}

}  // namespace minke::cli
