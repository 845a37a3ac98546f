// bring_left(): what was left to end under the old engine. The second snapshot has all that the first had,
// and what has happened since; only what was running at the first is taken from it: Slurm has the rest
// already.
#include <map>
#include <set>

#include "grow/carry/carry.h"
#include "grow/carry/commands.h"
#include "grow/carry/parts.h"
#include "grow/carry/snapshot.h"
#include "grow/carry/waiting_jobs.h"

namespace minke::grow {
namespace {

void add_part(const Brought& part, const std::string& what, Brought& all) {
  all.added += part.added;
  all.changed += part.changed;
  all.there_already += part.there_already;
  for (const std::string& one : part.remarks) all.remarks.push_back(what + ": " + one);
}

// Jobs that waited for what ran: held in Slurm until its end is known.
Status release(const std::vector<WaitingJob>& then, const std::vector<WaitingJob>& now,
               const Commands& commands, Brought& brought) {
  std::map<uint32_t, const WaitingJob*> by_number;
  for (const WaitingJob& job : now) by_number[job.id] = &job;
  for (const WaitingJob& job : then) {
    if (!job.awaits_running) continue;
    const auto found = by_number.find(job.id);
    const std::string id = std::to_string(job.id);
    if (found == by_number.end() || found->second->held) {
      brought.remarks.push_back("job " + id + ": stays held" +
                                (found != by_number.end() && found->second->held_by_user
                                     ? ", as its user wants it"
                                     : ": what it depends on has not ended as it should have"));
      continue;
    }
    const auto state = commands.ask({"squeue", "-ha", "-t", "PD", "-j", id, "-o", "%r"});
    if (!state || state->find("JobHeld") == std::string::npos) continue;  // somebody was faster
    if (const Status done = commands.change({"scontrol", "release", id}); !done) return done;
    ++brought.changed;
  }
  return {};
}

// Those of the second snapshot, which is closed again: one at a time has its data base.
Result<WaitingJobs> waiting_of(const std::string& directory, const IsAlone& alone,
                               std::vector<std::string>& remarks) {
  const auto now = Snapshot::open(directory);
  if (!now) return failure(now.error());
  auto waiting = waiting_jobs(*now, alone);
  if (!waiting) return waiting;
  remarks.insert(remarks.end(), waiting->alone.begin(), waiting->alone.end());
  return waiting;
}

// Those that wait in Slurm for an array of which a task has become a job of its own.
void wait_for_alone(const std::vector<WaitingJob>& now, const Commands& commands, Brought& brought) {
  for (const WaitingJob& job : now) {
    if (!job.awaits_alone) continue;
    const std::string id = std::to_string(job.id);
    const auto state = commands.ask({"squeue", "-ha", "-t", "PD", "-j", id, "-o", "%i"});
    if (!state || state->empty()) continue;
    const Status done =
        commands.change({"scontrol", "update", "JobId=" + id, "Dependency=" + job.dependency});
    if (!done)
      brought.remarks.push_back("job " + id + ": should depend on " + job.dependency + ": " +
                                done.error().message);
  }
}

}  // namespace

Result<Brought> bring_left(const std::string& before, const std::string& after, const NewSlurm& slurm) {
  const auto then = Snapshot::open(before);
  if (!then) return failure(then.error());
  const auto waiting_then = waiting_jobs(*then);
  if (!waiting_then) return failure(waiting_then.error());
  std::set<uint32_t> ran, ran_arrays, there;
  for (const Snapshot::ActiveJob& job : then->active_jobs()) {
    if (job.record.state() == model::JOB_PENDING) continue;
    ran.insert(job.record.job_id());
    ran_arrays.insert(job.record.array_job_id());
  }
  for (const WaitingJob& job : waiting_then->jobs) there.insert(job.id);
  // A task that was requeued cannot join its array, which is in Slurm already.
  const IsAlone alone = [&](const model::JobRecord& task) {
    return task.state() == model::JOB_PENDING && task.has_array_task_id() && ran.contains(task.job_id()) &&
           there.contains(task.array_job_id());
  };
  Brought brought;
  const auto waiting_now = waiting_of(after, alone, brought.remarks);
  if (!waiting_now) return failure(waiting_now.error());
  const auto record =
      bring_record_of(after, slurm, [&](const model::JobRecord& job) { return ran.contains(job.job_id()); });
  if (!record) return failure(record.error());
  add_part(*record, "record", brought);
  const auto usage = bring_usage_since(after, &*then, slurm);
  if (!usage) return failure(usage.error());
  add_part(*usage, "usage", brought);
  const auto requeued = bring_waiting_of(
      after, slurm,
      [&](const WaitingJob& job) {
        return (ran.contains(job.id) || ran_arrays.contains(job.id)) && !there.contains(job.id);
      },
      alone);
  if (!requeued) return failure(requeued.error());
  add_part(*requeued, "waiting", brought);
  const Commands commands(slurm);
  wait_for_alone(waiting_now->jobs, commands, brought);
  if (const Status released = release(waiting_then->jobs, waiting_now->jobs, commands, brought); !released)
    return failure(released.error());
  return brought;
}

}  // namespace minke::grow
