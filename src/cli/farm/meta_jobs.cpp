#include "cli/farm/meta_jobs.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "api/actions.pb.h"
#include "api/jobs.pb.h"
#include "cli/farm/meta.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/job_id.h"
#include "text/state.h"
#include "view/output.h"

namespace minke::cli {
namespace {

// The last run of the farm in this directory. Prints what is wrong.
Result<MetaRun> the_run() {
  auto run = read_last_run();
  if (!run) return run;
  if (run->number == 0) return failure(kNoFarm);
  return run;
}

// Cancels jobs of the farm in these states; all where there are none.
int cancel(const std::vector<model::JobState>& states) {
  const auto run = the_run();
  if (!run) return farm_complain(run.error().message);
  const auto cluster = engine::open();
  if (!cluster) return farm_complain(cluster.error().message);
  api::SignalRequest request;
  *request.mutable_filter() = jobs_of(*run);
  request.mutable_filter()->clear_all_states();
  for (const model::JobState state : states) request.mutable_filter()->add_states(state);
  request.set_ignore_missing(true);
  if (request.filter().jobs().empty()) return 0;
  const auto reply = (*cluster)->signal(request);
  if (!reply) return farm_complain(reply.error().message);
  return 0;
}

}  // namespace

void remove_tree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

api::JobFilter jobs_of(const MetaRun& run) {
  api::JobFilter filter;
  filter.set_all_states(true);
  for (const MetaJobs& jobs : run.jobs)
    if (jobs.job_id != 0) filter.add_jobs()->set_job_id(jobs.job_id);
  return filter;
}

Result<MetaStates> states_of(engine::Engine& cluster, const MetaRun& run) {
  MetaStates states;
  api::QueryJobsRequest request;
  *request.mutable_filter() = jobs_of(run);
  uint64_t submitted = 0;
  for (const MetaJobs& jobs : run.jobs) submitted += jobs.job_id == 0 ? 0 : jobs.count;
  if (request.filter().jobs().empty()) return states;
  const Status asked = cluster.jobs(request, [&](api::JobsReply& part) -> Status {
    for (const model::JobRecord& job : part.jobs()) {
      states.rows.push_back(
          {text::format_job_id(job), std::string(text::job_state_name(job.state(), job.completing()))});
      const auto of = std::find_if(run.jobs.begin(), run.jobs.end(), [&](const MetaJobs& jobs) {
        return jobs.job_id == text::shown_number(job);
      });
      if (of == run.jobs.end() || of->count == 0) continue;
      const bool over = job.state() > model::JOB_SUSPENDED && !job.completing();
      uint64_t& count = job.state() == model::JOB_PENDING ? states.queued
                        : over                            ? states.ended
                                                          : states.running;
      count += text::jobs_in(job);
    }
    return {};
  });
  if (!asked) return failure(asked.error());
  // The cluster forgets what has ended, after a while.
  states.ended = submitted - std::min(submitted, states.queued + states.running);
  return states;
}

int list_run_main(int, char**) {
  const auto run = the_run();
  if (!run) return farm_complain(run.error().message);
  const auto cluster = engine::open();
  if (!cluster) return farm_complain(cluster.error().message);
  const auto states = states_of(**cluster, *run);
  if (!states) return farm_complain(states.error().message);
  uint64_t shown = 0;
  for (const MetaStates::Row& row : states->rows) {
    char line[256];
    std::snprintf(line, sizeof line, "%-20s %s\n", row.id.c_str(), row.state.c_str());
    view::write_out(line);
    ++shown;
  }
  if (shown == 0) view::write_out("All jobs of the farm have ended\n");
  return 0;
}

int query_run_main(int, char**) {
  const auto run = the_run();
  if (!run) return farm_complain(run.error().message);
  const auto cluster = engine::open();
  if (!cluster) return farm_complain(cluster.error().message);
  const auto states = states_of(**cluster, *run);
  const auto tally = run_tally(*run);
  const auto left = read_left(*run);
  if (!states) return farm_complain(states.error().message);
  if (!tally) return farm_complain(tally.error().message);
  if (!left) return farm_complain(left.error().message);
  const auto line = [](const char* what, uint64_t count) {
    view::write_out(std::string(what) + std::to_string(count) + "\n");
  };
  line("Queued jobs: ", states->queued);
  line("Running jobs: ", states->running);
  line("Done jobs: ", states->ended);
  view::write_out("\nProcessed cases, this run: " + std::to_string(tally->ended) + "/" +
                  std::to_string(run->cases) + "\nProcessed cases, globally: " +
                  std::to_string(left->all - left->never_ended) + "/" + std::to_string(left->all) + "\n");
  if (left->cases > left->never_ended) line("Failed cases: ", left->cases - left->never_ended);
  return 0;
}

int kill_run_main(int, char**) {
  return cancel({});
}

int prune_run_main(int, char**) {
  return cancel({model::JOB_PENDING});
}

}  // namespace minke::cli
