// SlurmEngine: minke why. The records are those that its other answers are made of, so that a hundred of
// these cost slurmctld one query of each kind; how long this user's jobs run is learned from sacct some times
// a day.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <unordered_set>
#include <utility>

#include "api/accounting.pb.h"
#include "api/explanation.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "engine/slurm/explanation.h"
#include "engine/slurm/slurm_engine.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "sched/world.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr int64_t kLearnedFrom = int64_t{30} * 24 * 3600;  // s

template <typename Record, typename List>
void add_all(std::vector<Record>& to, List* from) {
  for (Record& one : *from) to.push_back(std::move(one));
}

// Of a job that ended: what its run time is learned from.
model::JobRecord learned_from(const model::JobRecord& job) {
  model::JobRecord brief;
  brief.set_job_id(job.job_id());
  brief.set_uid(job.uid());
  brief.set_state(job.state());
  brief.set_submit_time(job.submit_time());
  brief.set_start_time(job.start_time());
  brief.set_end_time(job.end_time());
  brief.set_suspended_seconds(job.suspended_seconds());
  brief.set_time_limit_minutes(job.time_limit_minutes());
  brief.set_num_cpus(job.num_cpus());
  brief.set_num_nodes(job.num_nodes());
  brief.set_partition(job.partition());
  return brief;
}

// Which of its nodes' GPUs it holds was not told: the world gives it those that the others have left.
bool holds_untold_devices(const model::JobRecord& job) {
  const bool told = std::any_of(job.nodes().begin(), job.nodes().end(),
                                [](const model::NodeAllocation& node) { return node.gres_size() > 0; });
  return !told && job.tres_gres_size() > 0;
}

// Whether everybody is shown all jobs.
bool shows_all_jobs(const api::ConfigReply& configuration) {
  for (const api::Field& one : configuration.values()) {
    if (one.name() != "PrivateData") continue;
    const auto hidden = text::split(one.value(), ',');
    return std::find(hidden.begin(), hidden.end(), "jobs") == hidden.end();
  }
  return false;
}

// What jobs hold on it is said by the jobs alone. The node's own sums are of another moment.
void forget_sums(model::NodeRecord& node) {
  node.clear_allocated_cpus();
  node.clear_allocated_memory_mib();
  node.clear_allocated_gres();
}

constexpr const char* kNotShown =
    ": this cluster does not show them to you (PrivateData), so that no start can be foreseen";

// What may not be seen is named, and all else goes on.
Status without(const char* what, const Status& asked, std::vector<std::string>& notes) {
  if (asked || asked.error().code != model::kAccessDenied) return asked;
  notes.push_back(std::string(what) + kNotShown);
  return {};
}

bool is_asked_for(const model::JobRecord& job, const api::JobSelector& asked) {
  if (asked.tasks_size() > 0)
    return job.array_job_id() == asked.job_id() && job.has_array_task_id() &&
           job.array_task_id() == asked.tasks(0).first();
  const uint32_t offset = asked.has_het_offset() ? asked.het_offset() : 0;
  return job.job_id() == asked.job_id() + offset;
}

// Where nodes or partitions may not be seen, nothing can be foreseen: what the job's record tells, and how
// many of those that are seen come before it.
bool explain_unforeseen(const std::vector<model::JobRecord>& jobs, const api::JobSelector& asked,
                        api::ExplainJobReply& reply) {
  const auto job = std::find_if(jobs.begin(), jobs.end(),
                                [&](const model::JobRecord& one) { return is_asked_for(one, asked); });
  if (job == jobs.end() || job->state() > model::JOB_SUSPENDED) return false;
  *reply.mutable_job() = *job;
  reply.set_ahead(static_cast<uint32_t>(std::count_if(jobs.begin(), jobs.end(), [&](const auto& one) {
    return one.state() == model::JOB_PENDING && one.partition() == job->partition() &&
           one.priority() > job->priority();
  })));
  return true;
}

}  // namespace

Status SlurmEngine::history(const Take<api::AccountingReply>& take) {
  return kept_parts<api::AccountingReply>(
      "history",
      [this](const Take<api::AccountingReply>& give) {
        api::QueryAccountingRequest request;
        request.mutable_filter()->add_uids(::getuid());
        request.set_from(std::time(nullptr) - kLearnedFrom);
        return accounting(request, [&](api::AccountingReply& part) {
          api::AccountingReply brief;
          for (const api::AccountedJob& one : part.jobs()) {
            if (one.job().start_time() != 0 && one.job().end_time() != 0)
              *brief.add_jobs()->mutable_job() = learned_from(one.job());
          }
          return give(brief);
        });
      },
      take);
}

Result<sched::WorldRecords> SlurmEngine::world_records(int64_t& now, std::vector<std::string>& notes) {
  sched::WorldRecords records;
  api::QueryJobsRequest all;
  all.mutable_filter()->set_all_states(true);
  const Status queue = jobs(all, [&](api::JobsReply& part) -> Status {
    now = part.now();
    for (model::JobRecord& job : *part.mutable_jobs()) {
      if (holds_untold_devices(job)) job.clear_nodes();
    }
    add_all(records.jobs, part.mutable_jobs());
    return {};
  });
  if (!queue) return failure(queue.error());
  const Status machine = nodes([&](api::NodesReply& part) -> Status {
    add_all(records.nodes, part.mutable_nodes());
    return {};
  });
  if (const Status seen = without("nodes", machine, notes); !seen) return failure(seen.error());
  const Status parts = every_partition([&](api::PartitionsReply& part) -> Status {
    add_all(records.partitions, part.mutable_partitions());
    return {};
  });
  if (const Status seen = without("partitions", parts, notes); !seen) return failure(seen.error());
  if (auto told = reservations()) {
    add_all(records.reservations, told->mutable_reservations());
  } else {
    notes.push_back("reservations: " + told.error().message);
  }
  if (const auto told = licenses()) {
    for (const api::License& one : told->licenses())
      records.licenses.push_back({one.name(), one.total(), one.used()});
  } else {
    notes.push_back("licenses: " + told.error().message);
  }
  return records;
}

void SlurmEngine::add_history(sched::WorldRecords& records, std::vector<std::string>& notes) {
  std::unordered_set<uint32_t> known;
  for (const model::JobRecord& job : records.jobs) known.insert(job.job_id());
  const Status learned = history([&](api::AccountingReply& part) -> Status {
    for (api::AccountedJob& one : *part.mutable_jobs()) {
      if (known.insert(one.job().job_id()).second) records.jobs.push_back(std::move(*one.mutable_job()));
    }
    return {};
  });
  if (!learned) notes.push_back("how long your jobs have run: " + learned.error().message);
}

Result<api::ExplainJobReply> SlurmEngine::explain(const api::ExplainJobRequest& request) {
  int64_t now = 0;
  std::vector<std::string> notes;
  if (std::string note = note_of_version(); !note.empty()) notes.push_back(std::move(note));
  auto records = world_records(now, notes);
  if (!records) return failure(records.error());
  const Error unknown{model::kInvalidJobId, std::string(model::slurm_error_text(model::kInvalidJobId))};
  api::ExplainJobReply reply;
  reply.set_now(now);
  if (records->nodes.empty() || records->partitions.empty()) {
    if (!explain_unforeseen(records->jobs, request.job(), reply)) return failure(unknown);
  } else {
    add_history(*records, notes);
    const std::vector<model::NodeRecord> all_nodes = records->nodes;
    const std::vector<model::PartitionRecord> all_partitions = records->partitions;
    if (const auto known = configuration(); known && shows_all_jobs(*known))
      std::for_each(records->nodes.begin(), records->nodes.end(), forget_sums);
    const auto world = sched::World::build(std::move(*records), now);
    if (!world) return failure(world.error());
    if (!slurm::explain(*world, request.job(), reply)) return failure(unknown);
    explain_nodes(all_nodes, all_partitions, reply);
  }
  for (std::string& note : notes) reply.add_notes(std::move(note));
  if (reply.job().reason() == model::WAIT_PRIORITY && reply.ahead() == 0)
    reply.add_notes("which jobs come before it: they are not shown to you");
  return reply;
}

}  // namespace minke::engine::slurm
