// swait: blocks until no step of a job runs any more.
//
// It looks at the job's steps, more seldom the longer they run: a step that still waits for its turn belongs
// to an srun that waits for it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/step_usage.pb.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/read_command.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "text/job_id.h"
#include "text/number.h"

namespace minke::cli {
namespace {

using options::Given;
using enum options::ArgumentKind;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::string_view kUsage =
    "Usage: swait [-hQvV] [--timeout=SECS] [--usage] [<jobid>[_<task>] | s<sluid>]\n";
enum ExitStatus : int { kOver = 0, kTimedOut = 1, kFailed = 2 };

struct Arguments {
  bool quiet = false;
  unsigned verbose = 0;
  uint64_t timeout_seconds = 0;  // 0: for ever
};

int fail(const std::string& message) {
  std::fprintf(stderr, "swait: error: %s\n", message.c_str());
  return kFailed;
}

std::optional<int> timeout(Arguments& arguments, const Given& given) {
  const auto seconds = text::parse_unsigned(given.text(), 1U << 30);
  if (!seconds)
    return fail("--timeout: invalid value '" + given.text() + "' (must be a non-negative integer)");
  arguments.timeout_seconds = *seconds;
  return std::nullopt;
}

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"quiet", 'Q', kNone, "", "suppress informational messages"}, options::flag<&Arguments::quiet>},
    {{"timeout", '\0', kRequired, "SECS", "give up after SECS seconds"}, timeout},
    {{"verbose", 'v', kNone, "", "more messages"}, options::count<&Arguments::verbose>},
    {{"version", 'V', kNone, "", "output version information and exit"}, show_version<Arguments>},
    {{"help", 'h', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"usage", '\0', kNone, "", "display a brief summary of swait options"}, show_usage<Arguments>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable =
      new options::Table<Arguments>({.name = "swait",
                                     .purpose = "waits until no step of a job runs any more",
                                     .operands = "[<jobid>[_<task>] | s<sluid>]",
                                     .operand_values = "$squeue --me -h -o %i",
                                     .usage = kUsage},
                                    kRows);
  return *kTable;
}

std::string job_of_environment() {
  for (const char* name : {"SLURM_JOB_SLUID", "SLURM_JOB_ID"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return "";
}

// The jobs that are meant, of which there may be one.
Result<api::JobSelector> job_meant(const std::string& word) {
  const auto job = text::parse_job_id(word);
  if (!job) return failure(word + ": cannot parse job id");
  if (job->het_offset) return failure(word + ": het-job offsets are not supported");
  api::JobSelector selector = engine::selector_of(*job);
  const auto& tasks = selector.tasks();
  if (tasks.size() > 1 || (tasks.size() == 1 && tasks[0].first() != tasks[0].last()))
    return failure(word + ": array-task ranges are not supported, pass one task offset");
  return selector;
}

Result<bool> has_ended(engine::Engine& cluster, const api::JobSelector& selector, const std::string& word) {
  api::QueryJobsRequest request;
  *request.mutable_filter()->add_jobs() = selector;
  request.mutable_filter()->set_all_states(true);
  request.set_brief(true);
  size_t jobs = 0;
  bool all_ended = true;
  const Status listed = cluster.jobs(request, [&](api::JobsReply& reply) -> Status {
    for (const model::JobRecord& job : reply.jobs()) {
      ++jobs;
      all_ended = all_ended && job.state() >= model::JOB_COMPLETE;
    }
    return {};
  });
  if (!listed) return failure("cannot load JobId=" + word + ": " + listed.error().message);
  if (jobs == 0) return failure("cannot load JobId=" + word + ": Invalid job id specified");
  if (jobs > 1) return failure(word + ": an array of several tasks, pass one of them as " + word + "_<task>");
  return all_ended;
}

Result<size_t> running_steps(engine::Engine& cluster, const api::JobSelector& selector) {
  api::QueryStepsRequest request;
  *request.mutable_filter()->add_jobs() = selector;
  size_t steps = 0;
  const Status listed = cluster.steps(request, [&](api::StepsReply& reply) -> Status {
    for (const model::StepRecord& step : reply.steps()) steps += step.kind() == model::STEP_NORMAL;
    return {};
  });
  if (!listed) return failure(listed.error());
  return steps;
}

int wait(engine::Engine& cluster, const api::JobSelector& selector, const Arguments& arguments) {
  const auto deadline = Clock::now() + std::chrono::seconds(arguments.timeout_seconds);
  for (auto pause = 20ms;; pause = std::min(pause * 2, 1000ms)) {
    const auto steps = running_steps(cluster, selector);
    if (!steps) return fail(steps.error().message);
    if (*steps == 0) return kOver;
    if (arguments.verbose > 0) std::fprintf(stderr, "swait: %zu steps are running\n", *steps);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (arguments.timeout_seconds != 0 && left.count() <= 0) {
      if (!arguments.quiet) std::fprintf(stderr, "swait: error: timed out with %zu steps running\n", *steps);
      return kTimedOut;
    }
    std::this_thread::sleep_for(arguments.timeout_seconds == 0 ? pause : std::min(pause, left));
  }
}

}  // namespace

const options::Command& swait_command() {
  return table().command;
}

int swait_main(int argc, char** argv) {
  Arguments arguments;
  const CommandRead read = read_command(table(), argc, argv, arguments);
  if (read.status) return *read.status;
  if (arguments.quiet && arguments.verbose > 0)
    return fail("--verbose (-v) and --quiet (-Q) are mutually exclusive");
  if (read.operands.size() > 1) return fail("too many positional arguments (expected at most one job id)");
  const std::string word = read.operands.empty() ? job_of_environment() : read.operands.front();
  if (word.empty()) return fail("no job id given and SLURM_JOB_SLUID/SLURM_JOB_ID are not set");
  const auto selector = job_meant(word);
  if (!selector) return fail(selector.error().message);
  const auto cluster = engine::open();
  if (!cluster) return fail(cluster.error().message);
  const auto ended = has_ended(**cluster, *selector, word);
  if (!ended) return fail(ended.error().message);
  return *ended ? static_cast<int>(kOver) : wait(**cluster, *selector, arguments);
}

}  // namespace minke::cli
