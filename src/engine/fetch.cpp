#include "engine/fetch.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "api/step_usage.pb.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"

namespace minke::engine {
namespace {

// Keeps the parts of an answer; `records_of` returns the records of each.
template <typename Reply, typename Record>
Result<Records<Reply, Record>> keep(auto ask, auto records_of) {
  Records<Reply, Record> result;
  const Status status = ask([&](Reply& part) -> Status {
    result.now = part.now();
    result.replies.push_back(std::move(part));
    return {};
  });
  if (!status) return failure(status.error());
  for (const Reply& reply : result.replies)
    for (const Record& record : records_of(reply)) result.records.push_back(&record);
  return result;
}

}  // namespace

Result<JobRecords> fetch_jobs(Engine& cluster, api::JobFilter filter, bool with_start_forecast, bool brief) {
  api::QueryJobsRequest request;
  *request.mutable_filter() = std::move(filter);
  request.set_with_start_forecast(with_start_forecast);
  request.set_brief(brief);
  return keep<api::JobsReply, model::JobRecord>(
      [&](const auto& take) { return cluster.jobs(request, take); },
      [](const auto& reply) -> const auto& { return reply.jobs(); });
}

Result<StepRecords> fetch_steps(Engine& cluster, api::JobFilter filter) {
  api::QueryStepsRequest request;
  *request.mutable_filter() = std::move(filter);
  return keep<api::StepsReply, model::StepRecord>(
      [&](const auto& take) { return cluster.steps(request, take); },
      [](const auto& reply) -> const auto& { return reply.steps(); });
}

Result<NodeRecords> fetch_nodes(Engine& cluster) {
  return keep<api::NodesReply, model::NodeRecord>([&](const auto& take) { return cluster.nodes(take); }, [
  ](const auto& reply) -> const auto& { return reply.nodes(); });
}

Result<PartitionRecords> fetch_partitions(Engine& cluster) {
  return keep<api::PartitionsReply, model::PartitionRecord>(
      [&](const auto& take) { return cluster.partitions(take); },
      [](const auto& reply) -> const auto& { return reply.partitions(); });
}

Result<AccountingRecords> fetch_accounting(Engine& cluster, const api::QueryAccountingRequest& query) {
  return keep<api::AccountingReply, api::AccountedJob>(
      [&](const auto& take) { return cluster.accounting(query, take); },
      [](const auto& reply) -> const auto& { return reply.jobs(); });
}

Result<int64_t> for_each_accounted(Engine& cluster, const api::QueryAccountingRequest& query,
                                   const std::function<void(const api::AccountedJob&)>& take) {
  int64_t now = 0;
  const Status outcome = cluster.accounting(query, [&](api::AccountingReply& part) -> Status {
    now = part.now();
    for (const api::AccountedJob& job : part.jobs()) take(job);
    return {};
  });
  if (!outcome) return failure(outcome.error());
  return now;
}

std::string fetch_cluster_name(Engine& cluster) {
  const auto identity = cluster.identity();
  return identity ? identity->cluster : std::string();
}

api::JobSelector selector_of(const text::JobReference& job) {
  api::JobSelector selector;
  selector.set_job_id(job.job_id);
  *selector.mutable_tasks() = job.tasks.ranges();
  if (job.het_offset) selector.set_het_offset(*job.het_offset);
  return selector;
}

}  // namespace minke::engine
