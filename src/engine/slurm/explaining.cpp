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

Result<api::ExplainJobReply> SlurmEngine::explain(const api::ExplainJobRequest& request) {
  sched::WorldRecords records;
  int64_t now = 0;
  std::unordered_set<uint32_t> known;
  api::QueryJobsRequest all;
  all.mutable_filter()->set_all_states(true);
  const Status queue = jobs(all, [&](api::JobsReply& part) -> Status {
    now = part.now();
    for (model::JobRecord& job : *part.mutable_jobs()) {
      known.insert(job.job_id());
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
  if (!machine) return failure(machine.error());
  const Status parts = partitions([&](api::PartitionsReply& part) -> Status {
    add_all(records.partitions, part.mutable_partitions());
    return {};
  });
  if (!parts) return failure(parts.error());
  std::vector<std::string> notes;
  if (std::string note = note_of_version(); !note.empty()) notes.push_back(std::move(note));
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
  const Status learned = history([&](api::AccountingReply& part) -> Status {
    for (api::AccountedJob& one : *part.mutable_jobs()) {
      if (known.insert(one.job().job_id()).second) records.jobs.push_back(std::move(*one.mutable_job()));
    }
    return {};
  });
  if (!learned) notes.push_back("how long your jobs have run: " + learned.error().message);

  const std::vector<model::NodeRecord> all_nodes = records.nodes;
  const std::vector<model::PartitionRecord> all_partitions = records.partitions;
  const auto world = sched::World::build(std::move(records), now);
  if (!world) return failure(world.error());
  api::ExplainJobReply reply;
  if (!slurm::explain(*world, request.job(), reply))
    return failure(std::string(model::slurm_error_text(model::kInvalidJobId)), model::kInvalidJobId);
  explain_nodes(all_nodes, all_partitions, reply);
  for (std::string& note : notes) reply.add_notes(std::move(note));
  return reply;
}

}  // namespace minke::engine::slurm
