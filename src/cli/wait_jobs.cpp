#include "cli/wait_jobs.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "cli/complain.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/fd.h"
#include "os/program_output.h"
#include "text/job_id.h"
#include "text/printable.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::JobRecord;

// The record of a job that is not in the queue any more.
Result<JobRecord> recorded(engine::Engine& cluster, const text::JobReference& job) {
  api::QueryAccountingRequest query;
  *query.mutable_filter()->add_jobs() = engine::selector_of(job);
  query.mutable_filter()->set_all_states(true);
  const auto found = engine::fetch_accounting(cluster, query);
  if (!found && found.error().code != model::kInvalidJobId) return failure(found.error());
  if (!found || found->records.empty()) return failure(no_such_job(text::format_job_id(job)));
  return found->records.back()->job();
}

Result<JobRecord> wait_for(engine::Engine& cluster, const text::JobReference& job) {
  api::WaitJobRequest request;
  request.set_job_id(job.job_id);
  request.set_until(api::WaitJobRequest::ENDED);
  JobRecord last;
  const Status waited = cluster.wait(request, [&last](api::WaitJobReply& reply) -> Status {
    last = std::move(*reply.mutable_job());
    return {};
  });
  if (waited && last.has_spec()) return last;  // one that had ended comes without it
  if (waited) return recorded(cluster, job);
  if (waited.error().code != model::kInvalidJobId) return failure(waited.error());
  return recorded(cluster, job);
}

std::string sentence(const JobRecord& job) {
  std::string elapsed;
  view::append_elapsed(elapsed, view::elapsed_seconds(job, job.end_time()));
  const int status = job.exit_code();
  const std::string how = job.state() != model::JOB_FAILED ? ""
                          : WIFSIGNALED(status)            ? ", signal " + std::to_string(WTERMSIG(status))
                                                : ", exit code " + std::to_string(WEXITSTATUS(status));
  return "job " + text::format_job_id(job) + " (" + text::printable(view::job_name(job)) + ") " +
         std::string(view::state_text(job)) + how + ", after " + elapsed;
}

// Runs a program with this text as its input. What it says on its standard error is the error.
Status run(const std::vector<std::string>& argv, const std::string& input,
           std::vector<std::string> environment) {
  os::UniqueFd file(::memfd_create("minke-wait", MFD_CLOEXEC));
  if (!file || ::write(file.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size()) ||
      ::lseek(file.get(), 0, SEEK_SET) != 0)
    return failure_from_errno("memfd_create", errno);
  auto started = os::ProgramOutput::start(argv, {.environment = std::move(environment), .input = file.get()});
  if (!started) return failure(started.error());
  char buffer[4096];
  for (;;) {
    const auto got = started->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    (void)!::write(STDOUT_FILENO, buffer, *got);
  }
  const auto ended = started->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code == 0) return {};
  return failure((argv.front() == "/bin/sh" ? std::string("the command") : argv[1]) +
                 " ended with exit code " + std::to_string(ended->exit_code) +
                 (ended->complaint.empty() ? "" : ": " + text::printable_lines(ended->complaint)));
}

Status tell(const JobRecord& job, const WaitOptions& options) {
  const std::string text = sentence(job), name = view::job_name(job), state(view::state_text(job));
  const std::string exit_status = std::to_string(
      WIFEXITED(job.exit_code()) ? WEXITSTATUS(job.exit_code()) : 128 + WTERMSIG(job.exit_code()));
  const std::string id = text::format_job_id(job);
  if (options.desktop)
    if (const Status told = run({"/usr/bin/env", "notify-send", "--app-name=minke", "--", text}, "", {});
        !told)
      return told;
  if (!options.webhook.empty()) {
    // Slack and Mattermost show "text", Discord "content".
    const nlohmann::json body = {{"text", text}, {"content", text}, {"job", id},
                                 {"name", name}, {"state", state},  {"exit_status", exit_status}};
    const std::vector<std::string> curl = {"/usr/bin/env",
                                           "curl",
                                           "--fail",
                                           "--silent",
                                           "--show-error",
                                           "--max-time",
                                           "30",
                                           "--proto",
                                           "=http,https",
                                           "--header",
                                           "Content-Type: application/json",
                                           "--data-binary",
                                           "@-",
                                           "--output",
                                           "/dev/null",
                                           "--",
                                           options.webhook};
    const std::string json = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (const Status told = run(curl, json, {}); !told) return told;
  }
  if (options.command.empty()) return {};
  const std::vector<std::string> variables = {"MINKE_JOB_ID=" + id, "MINKE_JOB_NAME=" + name,
                                              "MINKE_JOB_STATE=" + state,
                                              "MINKE_JOB_EXIT_STATUS=" + exit_status};
  return run({"/bin/sh", "-c", options.command}, "", variables);
}

}  // namespace

int wait_jobs(const WaitOptions& options) {
  std::vector<text::JobReference> wanted;
  for (const std::string& word : options.jobs) {
    const auto job = text::parse_job_id(word);
    if (!job || job->step || job->tasks.ranges_size() > 0)
      return complain(
          Error{0, "\"" + text::printable(word) + "\" is no job id: write 12, for a job or a whole array"});
    wanted.push_back(*job);
  }
  const auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  int exit_status = 0;
  for (const text::JobReference& job : wanted) {
    const auto ended = wait_for(**cluster, job);
    if (!ended) return complain(ended.error());
    if (ended->state() != model::JOB_COMPLETE) exit_status = 1;
    if (!options.quiet) std::printf("%s\n", sentence(*ended).c_str());
    std::fflush(stdout);
    if (const Status told = tell(*ended, options); !told) {
      complain(told.error());
      exit_status = 1;
    }
  }
  return exit_status;
}

}  // namespace minke::cli
