// bring_waiting_jobs(): each waiting job is submitted with its own number, unless the new Slurm has it
// already; then all of them get their dependencies, holds and priorities. Meanwhile all partitions are DOWN,
// so that nothing starts before it is whole; their states are kept in a file of the snapshot, and a call that
// was killed leaves them DOWN until the next one has ended.
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "grow/carry/carry.h"
#include "grow/carry/closed_partitions.h"
#include "grow/carry/commands.h"
#include "grow/carry/job_document.h"
#include "grow/carry/later_jobs.h"
#include "grow/carry/parts.h"
#include "grow/carry/rest_submission.h"
#include "grow/carry/snapshot.h"
#include "grow/carry/utf8.h"
#include "grow/carry/waiting_jobs.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::grow {
namespace {

using nlohmann::json;

// Those that the new Slurm has, or had since the snapshot: an array by its own number.
struct KnownJobs {
  std::set<uint32_t> all, pending;
};
Result<KnownJobs> known_jobs(const Commands& commands, const Snapshot& snapshot,
                             const std::vector<WaitingJob>& jobs) {
  const auto rows = commands.table({"squeue", "-ha", "-t", "all", "-o", "%F|%t"}, 2);
  if (!rows) return failure(rows.error());
  KnownJobs known;
  std::set<uint32_t> others;
  for (const auto& row : *rows) {
    const auto id = text::parse_unsigned(row[0], 0xffffffff);
    if (!id) continue;
    known.all.insert(static_cast<uint32_t>(*id));
    if (row[1] == "PD") known.pending.insert(static_cast<uint32_t>(*id));
  }
  for (const WaitingJob& job : jobs) {
    if (!known.all.contains(job.id)) others.insert(job.id);
  }
  const auto later = later_jobs(commands, snapshot, others);
  if (!later) return failure(later.error());
  for (const LaterJob& one : *later) known.all.insert(one.number);
  return known;
}

class JobCarrier {
 public:
  JobCarrier(const Snapshot& snapshot, const Commands& commands, const RestSubmission& rest, bool was_whole)
      : snapshot_(snapshot), commands_(commands), rest_(rest), was_whole_(was_whole) {}

  void submit(const std::vector<const WaitingJob*>& components, const KnownJobs& known) {
    const WaitingJob& job = *components.front();
    if (known.all.contains(job.id)) {
      for (const WaitingJob* one : components) {
        if (!was_whole_ && known.pending.contains(one->id)) unfinished_.insert(one->id);
      }
      ++brought_.there_already;
      return;
    }
    std::vector<json> documents;
    for (const WaitingJob* one : components) {
      const auto document = document_of(*one, one == components.front());
      if (!document) return remark(job, document.error().message);
      documents.push_back(*document);
    }
    const auto number = rest_.submit(documents);
    if (!number) return remark(job, "is not carried: Slurm refuses it: " + number.error().message);
    if (*number != job.id) return remark(job, "got the number " + std::to_string(*number));
    for (const WaitingJob* one : components) unfinished_.insert(one->id);
    ++brought_.added;
  }

  // What can only be said once all jobs are there. Each states the wanted result.
  void finish(const WaitingJob& job) {
    if (!unfinished_.contains(job.id)) return;
    const std::string id = std::to_string(job.id);
    if (!job.dependency.empty()) update(job, {"Dependency=" + job.dependency});
    if (job.record.fixed_priority() && !job.held)
      update(job, {"Priority=" + std::to_string(job.record.priority())});
    if (job.age_points > 0 && !job.record.fixed_priority())
      update(job, {"SiteFactor=" + std::to_string(job.age_points)});
    for (const ChangedTask& task : job.changed_tasks) {
      std::vector<std::string> words = {"scontrol", "update",
                                        "JobId=" + id + "_" + std::to_string(task.index)};
      words.insert(words.end(), task.settings.begin(), task.settings.end());
      change(job, std::move(words));
    }
    if (job.held) change(job, {"scontrol", job.held_by_user ? "uhold" : "hold", id});
    for (const HeldTask& task : job.held_tasks)
      change(job, {"scontrol", task.by_user ? "uhold" : "hold", id + "_" + std::to_string(task.index)});
  }

  Brought& brought() { return brought_; }

 private:
  void remark(const WaitingJob& job, const std::string& what) {
    brought_.remarks.push_back("job " + std::to_string(job.id) + ": " + what);
  }
  void change(const WaitingJob& job, std::vector<std::string> words) {
    std::string said;
    for (const std::string& word : words) said += (said.empty() ? "" : " ") + word;
    if (const Status done = commands_.change(std::move(words)); !done)
      remark(job, said + ": " + done.error().message);
  }
  void update(const WaitingJob& job, const std::vector<std::string>& settings) {
    std::vector<std::string> words = {"scontrol", "update", "JobId=" + std::to_string(job.id)};
    words.insert(words.end(), settings.begin(), settings.end());
    change(job, std::move(words));
  }

  Result<json> document_of(const WaitingJob& job, bool with_script) {
    std::string script, environment;
    if (with_script) {
      const auto content = snapshot_.content(job.script);
      if (!content) return failure("is not carried: its script: " + content.error().message);
      if (!is_utf8(*content)) return failure("is not carried: its script is no UTF-8");
      script = *content;
    }
    const auto variables = snapshot_.content(job.environment);
    if (!variables) return failure("is not carried: its environment: " + variables.error().message);
    std::vector<std::string> remarks;
    json document = job_document(job, script, *variables, remarks);
    for (const std::string& one : remarks) remark(job, one);
    return document;
  }

  const Snapshot& snapshot_;
  const Commands& commands_;
  const RestSubmission& rest_;
  bool was_whole_;  // an earlier call has finished all jobs: what differs since is their owners' will
  std::set<uint32_t> unfinished_;
  Brought brought_;
};

// Jobs in order; the components of a heterogeneous job together, in their order.
std::vector<std::vector<const WaitingJob*>> submissions_of(const std::vector<WaitingJob>& jobs) {
  std::vector<std::vector<const WaitingJob*>> submissions;
  std::map<uint32_t, size_t> by_het_job;
  for (const WaitingJob& job : jobs) {
    const uint32_t het = job.record.het_job_id();
    const auto known = het == 0 ? by_het_job.end() : by_het_job.find(het);
    if (known != by_het_job.end()) {
      submissions[known->second].push_back(&job);
      continue;
    }
    if (het != 0) by_het_job[het] = submissions.size();
    submissions.push_back({&job});
  }
  for (auto& components : submissions)
    std::sort(components.begin(), components.end(), [](const WaitingJob* a, const WaitingJob* b) {
      return a->record.het_job_offset() < b->record.het_job_offset();
    });
  return submissions;
}

}  // namespace

Result<Brought> bring_waiting_jobs(const std::string& directory, const NewSlurm& slurm) {
  return bring_waiting_of(directory, slurm, nullptr);
}

Result<Brought> bring_waiting_of(const std::string& directory, const NewSlurm& slurm,
                                 const std::function<bool(const WaitingJob& job)>& chosen,
                                 const IsAlone& alone) {
  const auto snapshot = Snapshot::open(directory);
  if (!snapshot) return failure(snapshot.error());
  auto waiting = waiting_jobs(*snapshot, alone);
  if (!waiting) return failure(waiting.error());
  if (chosen) {
    std::erase_if(waiting->jobs, [&](const WaitingJob& job) { return !chosen(job); });
    waiting->remarks.clear();  // they are about all jobs, and have been told
  }
  const Commands commands(slurm);
  if (waiting->jobs.empty()) return Brought{.remarks = std::move(waiting->remarks)};
  const auto rest = RestSubmission::open(slurm);
  if (!rest && rest.error().code == ENOTSUP) {
    Brought none{.remarks = std::move(waiting->remarks)};
    for (const WaitingJob& job : waiting->jobs)
      none.remarks.push_back("job " + std::to_string(job.id) + ": is not carried: " + rest.error().message);
    return none;
  }
  if (!rest) return failure(rest.error());
  ClosedPartitions partitions(commands, directory);
  if (const Status closed = partitions.close(); !closed) return failure(closed.error());
  const auto known = known_jobs(commands, *snapshot, waiting->jobs);
  if (!known) return failure(known.error());
  const std::string whole = directory + "/waiting-brought";
  JobCarrier carrier(*snapshot, commands, *rest, ::access(whole.c_str(), F_OK) == 0);
  for (const auto& components : submissions_of(waiting->jobs)) carrier.submit(components, *known);
  for (const WaitingJob& job : waiting->jobs) carrier.finish(job);
  if (const Status noted = os::replace_file(whole, "", 0600); !noted) return failure(noted.error());
  if (const Status opened = partitions.open(); !opened) return failure(opened.error());
  Brought brought = std::move(carrier.brought());
  brought.remarks.insert(brought.remarks.begin(), waiting->remarks.begin(), waiting->remarks.end());
  return brought;
}

}  // namespace minke::grow
