#include "engine/find_submitted.h"

#include <unistd.h>

#include <algorithm>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "engine/slurm/submission_words.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"

namespace minke::engine {

Result<uint32_t> find_submitted(Engine& cluster, const std::string& key, int64_t from) {
  const auto self = cluster.identity();
  if (!self) return failure(self.error());
  if (self->product != "Slurm") return uint32_t{0};
  const std::string mark = slurm::submission_mark(key);
  uint32_t found = 0;  // the first, where there are two
  const auto look = [&](const model::JobRecord& job) {
    if (!slurm::has_mark(job, mark)) return;
    const uint32_t id = job.array_job_id() != 0 ? job.array_job_id() : job.job_id();
    found = found == 0 ? id : std::min(found, id);
  };
  api::QueryJobsRequest queue;
  queue.mutable_filter()->set_all_states(true);
  queue.mutable_filter()->add_uids(::getuid());
  const Status asked = cluster.jobs(queue, [&](api::JobsReply& part) -> Status {
    for (const model::JobRecord& job : part.jobs()) look(job);
    return {};
  });
  if (!asked) return failure(asked.error());
  if (found != 0) return found;
  // slurmctld forgets what has ended. That the record cannot be asked does not matter before that.
  api::QueryAccountingRequest record;
  record.mutable_filter()->set_all_states(true);
  record.mutable_filter()->add_uids(::getuid());
  record.set_from(from);
  [[maybe_unused]] const Status kept = cluster.accounting(record, [&](api::AccountingReply& part) -> Status {
    for (const api::AccountedJob& one : part.jobs()) look(one.job());
    return {};
  });
  return found;
}

}  // namespace minke::engine
