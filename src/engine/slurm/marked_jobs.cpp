#include "engine/slurm/marked_jobs.h"

#include <unistd.h>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "engine/slurm/submission_words.h"
#include "model/job_record.pb.h"
#include "text/job_id.h"

namespace minke::engine::slurm {

Result<std::set<uint32_t>> find_marked(Engine& cluster, const std::string& mark, int64_t from) {
  constexpr int64_t kClocksApart = 300;  // s
  std::set<uint32_t> found;
  const auto look = [&](const model::JobRecord& job) {
    if (has_mark(job, mark)) found.insert(text::shown_number(job));
  };
  api::QueryJobsRequest queue;
  queue.mutable_filter()->set_all_states(true);
  queue.mutable_filter()->add_uids(::getuid());
  const Status asked = cluster.jobs(queue, [&](api::JobsReply& part) -> Status {
    for (const model::JobRecord& job : part.jobs()) look(job);
    return {};
  });
  if (!asked) return failure(asked.error());
  if (!found.empty()) return found;
  api::QueryAccountingRequest record;
  record.mutable_filter()->set_all_states(true);
  record.mutable_filter()->add_uids(::getuid());
  record.set_from(from - kClocksApart);
  [[maybe_unused]] const Status kept = cluster.accounting(record, [&](api::AccountingReply& part) -> Status {
    for (const api::AccountedJob& one : part.jobs()) look(one.job());
    return {};
  });
  return found;
}

}  // namespace minke::engine::slurm
