#include "farming/farm_jobs.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>
#include <utility>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/submission.pb.h"
#include "engine/failed_launch.h"
#include "engine/fetch.h"
#include "engine/find_submitted.h"
#include "farming/farm_directory.h"
#include "farming/reclaim.h"
#include "farming/worker_files.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "os/files.h"
#include "os/random_key.h"
#include "text/hex.h"
#include "text/job_id.h"
#include "text/number.h"

namespace minke::farming {
namespace {

constexpr uint32_t kMostTasks = 1000;  // of one array: Slurm's MaxArraySize is 1001 as installed

// What a submission's entry says: its key, and what differs from the farm's request.
std::string describe(const std::string& key, const JobOrder& order) {
  return text::to_hex(key) + " " + std::to_string(order.minutes) + " " + std::to_string(order.memory_mib) +
         " " + (order.other_than.empty() ? "-" : order.other_than);
}

std::pair<std::string, JobOrder> read_description(const farm::Submission& submission) {
  JobOrder order;
  order.jobs = submission.jobs;
  order.level = submission.level;
  const auto words = text::split(submission.key, ' ');
  if (words.size() < 4) return {text::from_hex(words[0]), order};
  order.minutes = static_cast<uint32_t>(text::parse_unsigned(words[1], ~0u).value_or(0));
  order.memory_mib = text::parse_unsigned(words[2]).value_or(0);
  if (words[3] != "-") order.other_than = std::string(words[3]);
  return {text::from_hex(words[0]), order};
}

void grow_memory(model::JobSpec& spec, const JobOrder& order) {
  if (order.level == 0) return;
  const auto factor = uint64_t{1} << std::min(order.level, farm::kHighestLevel);
  if (spec.mem_per_cpu_mib() > 0) {
    spec.set_mem_per_cpu_mib(spec.mem_per_cpu_mib() * factor);
  } else if (spec.mem_per_gpu_mib() > 0) {
    spec.set_mem_per_gpu_mib(spec.mem_per_gpu_mib() * factor);
  } else if (const uint64_t known = spec.mem_per_node_mib() > 0 ? spec.mem_per_node_mib() : order.memory_mib;
             known > 0) {
    spec.set_mem_per_node_mib(known * factor);
  }
}

Result<uint32_t> send(engine::Engine& cluster, const std::string& directory, const std::string& key,
                      const JobOrder& order) {
  auto read = read_job_request(directory);
  if (!read) return failure(read.error());
  api::SubmitRequest& request = *read;
  request.set_key(key);
  request.mutable_script()->append(" " + std::to_string(order.level) + "\n");
  model::JobSpec& spec = *request.mutable_spec();
  spec.clear_array();
  if (order.jobs > 1) {
    model::IndexRange& range = *spec.mutable_array()->add_ranges();
    range.set_first(1);
    range.set_last(order.jobs);
    range.set_step(1);
  }
  if (order.minutes > 0 && !spec.has_time_limit_minutes()) spec.set_time_limit_minutes(order.minutes);
  if (!order.other_than.empty())
    spec.set_exclude(spec.exclude().empty() ? order.other_than : spec.exclude() + "," + order.other_than);
  grow_memory(spec, order);
  const auto reply = cluster.submit(std::move(request));
  if (!reply) return failure(reply.error());
  return reply->job_id();
}

Status note(Journal& journal, farm::EntryKind kind, uint64_t first, uint32_t level, const std::string& text) {
  const auto turn = Turn::take(journal);
  if (!turn) return failure(turn.error());
  return journal.add({{kind, 0, first, 0, 0, level, std::time(nullptr), text}});
}

api::JobFilter jobs_of(const farm::Ledger& ledger) {
  api::JobFilter filter;
  filter.set_all_states(true);
  for (const farm::Submission& one : ledger.submissions())
    if (one.job_id.value_or(0) != 0) filter.add_jobs()->set_job_id(*one.job_id);
  return filter;
}

Death death_of(const model::JobRecord& job, bool same_boot) {
  switch (job.state()) {
    case model::JOB_NODE_FAIL:
    case model::JOB_BOOT_FAIL:
      return {farm::Ending::kNodeFail, false};
    case model::JOB_OOM:
      return {farm::Ending::kOutOfMemory, true};
    case model::JOB_TIMEOUT:
    case model::JOB_PREEMPTED:
    case model::JOB_CANCELLED:
    case model::JOB_DEADLINE:
      return {farm::Ending::kStopped, true};
    default:
      return {farm::Ending::kLost, same_boot || job.state() > model::JOB_SUSPENDED};
  }
}

// In a turn.
Status account_for_ended(Journal& journal, const farm::RetryRule& rule,
                         const std::map<std::string, model::JobRecord>& records) {
  const std::string boot = boot_id();
  std::vector<uint32_t> present;
  for (const auto& [number, member] : journal.ledger().members())
    if (!member.gone) present.push_back(number);
  for (const uint32_t number : present) {
    const auto alive = journal.is_alive(number);
    if (!alive) return failure(alive.error());
    if (*alive) continue;
    const farm::Member& member = journal.ledger().members().at(number);
    const auto record = records.find(member.job);
    Death death{farm::Ending::kLost, member.boot == boot};
    if (record != records.end()) death = death_of(record->second, member.boot == boot);
    if (const Status done = account_for(journal, number, rule, death); !done) return done;
  }
  return {};
}

// In a turn. A worker on a node that fails may have been told to stop first: its cases wait to run again, and
// it did not know why.
Status shun_failed_nodes(Journal& journal, const std::map<std::string, model::JobRecord>& records) {
  std::vector<farm::Entry> entries;
  const farm::Ledger& ledger = journal.ledger();
  for (const auto& [number, member] : ledger.members()) {
    const auto record = records.find(member.job);
    if (record == records.end() || death_of(record->second, true).ending != farm::Ending::kNodeFail) continue;
    const Status read = for_each_outcome(journal.directory(), number, 0, [&](const farm::Outcome& outcome) {
      if (!outcome.again || outcome.ending != farm::Ending::kStopped) return;
      const auto waiting = ledger.waiting().find(outcome.number);
      if (waiting == ledger.waiting().end() || waiting->second.attempt != outcome.attempt + 1 ||
          !waiting->second.other_than.empty())
        return;
      entries.push_back({farm::EntryKind::kShun, number, outcome.number, 0, outcome.attempt + 1, 0,
                         std::time(nullptr), member.host});
    });
    if (!read) return read;
  }
  return entries.empty() ? Status() : journal.add(entries);
}

// An end that the cluster knows already is no failure.
Status cancel(engine::Engine& cluster, api::SignalRequest& request) {
  request.set_ignore_missing(true);
  const auto reply = cluster.signal(request);
  if (!reply) return failure(reply.error());
  return {};
}

// Whether all workers of this run of the job have ended. Where a Slurm's controller was killed, a job may
// run in its records for long after that.
Result<bool> is_without_workers(Journal& journal, const model::JobRecord& job) {
  constexpr int64_t kClocksApart = 5;  // s: the node's and the controller's
  const std::string id = text::format_job_id(job);
  bool had_some = false;
  for (const auto& [number, member] : journal.ledger().members()) {
    if (member.job != id || member.since + kClocksApart < job.start_time()) continue;
    const auto alive = member.gone ? Result<bool>(false) : journal.is_alive(number);
    if (!alive) return failure(alive.error());
    if (*alive) return false;
    had_some = true;
  }
  return had_some;
}

}  // namespace

Result<uint32_t> submit_jobs(engine::Engine& cluster, Journal& journal, const JobOrder& wanted) {
  JobOrder order = wanted;
  order.jobs = std::clamp(order.jobs, 1u, kMostTasks);
  const std::string key = os::random_key(), description = describe(key, order);
  if (const Status noted = note(journal, farm::EntryKind::kSubmit, order.jobs, order.level, description);
      !noted)
    return failure(noted.error());
  const auto id = send(cluster, journal.directory(), key, order);
  if (const Status noted = note(journal, farm::EntryKind::kJob, id.value_or(0), 0, description); !noted)
    return failure(noted.error());
  return id;
}

Status complete_submissions(engine::Engine& cluster, Journal& journal) {
  {
    const auto turn = Turn::take(journal);
    if (!turn) return failure(turn.error());
  }
  constexpr int64_t kPatience = 120;  // s: somebody may be at it
  const std::vector<farm::Submission> all = journal.ledger().submissions();
  for (const farm::Submission& one : all) {
    if (one.job_id || one.since + kPatience > std::time(nullptr)) continue;
    const auto [key, order] = read_description(one);
    auto id = engine::find_submitted(cluster, key, one.since);
    if (id && *id == 0) id = send(cluster, journal.directory(), key, order);
    if (const Status noted = note(journal, farm::EntryKind::kJob, id.value_or(0), 0, one.key); !noted)
      return noted;
  }
  return {};
}

Result<FarmJobs> follow_jobs(engine::Engine& cluster, Journal& journal, const farm::RetryRule& rule) {
  if (const Status done = complete_submissions(cluster, journal); !done) return failure(done.error());
  FarmJobs jobs;
  std::map<std::string, model::JobRecord> records;
  api::QueryJobsRequest request;
  *request.mutable_filter() = jobs_of(journal.ledger());
  std::vector<model::JobRecord> held;
  if (!request.filter().jobs().empty()) {
    const Status asked = cluster.jobs(request, [&](api::JobsReply& part) -> Status {
      for (const model::JobRecord& job : part.jobs()) {
        const uint32_t array = text::shown_number(job);
        const auto& all = journal.ledger().submissions();
        const auto of = std::find_if(all.begin(), all.end(),
                                     [&](const farm::Submission& one) { return one.job_id == array; });
        if (of == all.end()) continue;
        records[text::format_job_id(job)] = job;
        const uint64_t count = text::jobs_in(job);
        if (engine::waits_after_failed_launch(job)) held.push_back(job);
        if (job.state() == model::JOB_PENDING) {
          jobs.queued += count;
          jobs.present.push_back({count, of->level, ""});
        } else if (job.state() <= model::JOB_SUSPENDED || job.completing()) {
          jobs.running += count;
          const auto is_left = is_without_workers(journal, job);
          if (!is_left) return failure(is_left.error());
          if (job.completing()) continue;
          if (*is_left)
            jobs.left.push_back(text::format_job_id(job));
          else
            jobs.present.push_back({count, of->level, job.batch_host()});
        }
      }
      return {};
    });
    if (!asked) return failure(asked.error());
  }
  auto stay = engine::release_after_failed_launch(cluster, held);
  if (!stay) return failure(stay.error());
  jobs.held = std::move(*stay);
  for (const farm::Submission& one : journal.ledger().submissions())
    if (!one.job_id) jobs.present.push_back({one.jobs, one.level, ""});
  const auto turn = Turn::take(journal);
  if (!turn) return failure(turn.error());
  if (const Status done = account_for_ended(journal, rule, records); !done) return failure(done.error());
  if (const Status done = shun_failed_nodes(journal, records); !done) return failure(done.error());
  return jobs;
}

Status cancel_jobs(engine::Engine& cluster, const std::vector<std::string>& jobs) {
  if (jobs.empty()) return {};
  api::SignalRequest request;
  for (const std::string& name : jobs) {
    const auto job = text::parse_job_id(name);
    if (!job) return failure(job.error());
    *request.mutable_filter()->add_jobs() = engine::selector_of(*job);
  }
  return cancel(cluster, request);
}

Status cancel_jobs(engine::Engine& cluster, Journal& journal, bool running) {
  api::SignalRequest request;
  *request.mutable_filter() = jobs_of(journal.ledger());
  request.mutable_filter()->clear_all_states();
  if (request.filter().jobs().empty()) return {};
  if (!running) request.mutable_filter()->add_states(model::JOB_PENDING);
  return cancel(cluster, request);
}

}  // namespace minke::farming
