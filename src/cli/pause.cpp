#include "cli/pause.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/updates.pb.h"
#include "cli/complain.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/job_id.h"
#include "text/printable.h"

namespace minke::cli {
namespace {

// One error out of an answer that may tell of several.
Status outcome(const Result<api::ActionReply>& answer) {
  if (!answer) return failure(answer.error());
  if (answer->failures_size() == 0) return {};
  const api::ActionReply::Failure& first = answer->failures(0);
  const int code = static_cast<int>(first.code());
  return failure(first.message().empty() ? std::string(model::slurm_error_text(code)) : first.message(),
                 code);
}

bool is_refused(const Status& done) {
  return !done && (done.error().code == model::kAccessDenied || done.error().code == model::kInvalidUserId);
}

Status set_state(engine::Engine& cluster, const std::string& partition, const char* state) {
  api::UpdatePartitionRequest request;
  request.set_name(partition);
  api::Field& field = *request.add_fields();
  field.set_name("State");
  field.set_value(state);
  return outcome(cluster.update(request));
}

// The partitions that are meant and have this state.
Result<std::vector<std::string>> partitions_in(engine::Engine& cluster, const std::vector<std::string>& named,
                                               std::string_view state) {
  const auto all = engine::fetch_partitions(cluster);
  if (!all) return failure(all.error());
  std::vector<std::string> found;
  for (const model::PartitionRecord* one : all->records) {
    const bool is_meant = named.empty() || std::find(named.begin(), named.end(), one->name()) != named.end();
    if (is_meant && one->state() == state) found.push_back(one->name());
  }
  for (const std::string& name : named) {
    const auto is_it = [&](const auto* one) { return one->name() == name; };
    if (std::none_of(all->records.begin(), all->records.end(), is_it))
      return failure("there is no partition " + text::printable(name) + "; sinfo lists them");
  }
  return found;
}

Result<std::vector<const model::JobRecord*>> jobs_in(engine::JobRecords& kept, engine::Engine& cluster,
                                                     bool mine, model::JobState state) {
  api::JobFilter filter;
  if (mine) filter.add_uids(::getuid());
  filter.add_states(state);
  auto fetched = engine::fetch_jobs(cluster, filter);
  if (!fetched) return failure(fetched.error());
  kept = std::move(*fetched);
  return kept.records;
}

api::JobSelector selector_of(const model::JobRecord& job) {
  api::JobSelector selector;
  selector.set_job_id(job.job_id());
  return selector;
}

std::string count_of(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Holds or releases the own waiting jobs.
int hold_mine(engine::Engine& cluster, bool release) {
  engine::JobRecords kept;
  const auto jobs = jobs_in(kept, cluster, true, model::JOB_PENDING);
  if (!jobs) return complain(jobs.error());
  api::HoldRequest request;
  request.set_kind(release ? api::HoldRequest::RELEASE : api::HoldRequest::USER_HOLD);
  for (const model::JobRecord* job : *jobs)
    if ((job->reason() == model::WAIT_HELD_USER) == release && job->reason() != model::WAIT_HELD)
      *request.add_jobs() = selector_of(*job);
  if (request.jobs_size() > 0) {
    if (const Status done = outcome(cluster.hold(request)); !done) return complain(done.error());
  }
  const std::string jobs_text = count_of(static_cast<size_t>(request.jobs_size()), "waiting job");
  if (release)
    std::printf("%s of yours may start again\n", jobs_text.c_str());
  else
    std::printf("%s of yours held; what you submit from now on is not. To go on: minke resume --mine\n",
                jobs_text.c_str());
  return 0;
}

// Suspends what runs, or lets it go on.
int suspend(engine::Engine& cluster, bool resume) {
  engine::JobRecords kept;
  const auto jobs = jobs_in(kept, cluster, false, resume ? model::JOB_SUSPENDED : model::JOB_RUNNING);
  if (!jobs) return complain(jobs.error());
  if (jobs->empty()) return 0;
  api::SuspendRequest request;
  request.set_resume(resume);
  for (const model::JobRecord* job : *jobs) *request.add_jobs() = selector_of(*job);
  if (const Status done = outcome(cluster.suspend(request)); !done) return complain(done.error());
  const std::string count = count_of(jobs->size(), "job");
  std::printf(resume ? "%s that had been suspended: going on\n" : "%s that ran: suspended\n", count.c_str());
  return 0;
}

// Puts the partitions that are meant from one state into another. An error is printed; none: `refused` says
// whether the right is lacking.
Result<std::vector<std::string>> switch_partitions(engine::Engine& cluster, const PauseOptions& options,
                                                   const char* from, const char* to, bool& refused) {
  auto found = partitions_in(cluster, options.partitions, from);
  if (!found) return failure(found.error());
  for (const std::string& name : *found) {
    const Status done = set_state(cluster, name, to);
    refused = is_refused(done);
    if (!done) return failure(done.error());
  }
  return found;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(text::printable(name));
  return out;
}

}  // namespace

int pause_queue(const PauseOptions& options) {
  const auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  if (options.mine) return hold_mine(**cluster, false);
  bool refused = false;
  const auto closed = switch_partitions(**cluster, options, "UP", "DOWN", refused);
  if (refused && options.partitions.empty() && !options.running) return hold_mine(**cluster, false);
  if (!closed) return complain(closed.error());
  if (closed->empty())
    std::printf("paused already: no partition takes new jobs into work\n");
  else
    std::printf("paused: nothing new starts in %s; what runs goes on. To go on: minke resume\n",
                joined(*closed).c_str());
  return options.running ? suspend(**cluster, false) : 0;
}

int resume_queue(const PauseOptions& options) {
  const auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  if (options.mine) return hold_mine(**cluster, true);
  bool refused = false;
  const auto opened = switch_partitions(**cluster, options, "DOWN", "UP", refused);
  if (refused && options.partitions.empty()) return hold_mine(**cluster, true);
  if (!opened) return complain(opened.error());
  if (opened->empty())
    std::printf("nothing was paused\n");
  else
    std::printf("jobs start again in %s\n", joined(*opened).c_str());
  return suspend(**cluster, true);
}

}  // namespace minke::cli
