// Fetches whole answers with a cluster's records; short functions for common requests. One thread; blocking.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/accounting.pb.h"
#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "api/step_usage.pb.h"
#include "base/result.h"
#include "engine/engine.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "text/job_id.h"

namespace minke::api {
class JobFilter;
class JobSelector;
}  // namespace minke::api

namespace minke::engine {

// Keeps whole replies, because their records are large; `records` points into them.
template <typename Reply, typename Record>
struct Records {
  std::vector<Reply> replies;
  std::vector<const Record*> records;
  int64_t now = 0;  // the cluster's time, s since the epoch
};
using JobRecords = Records<api::JobsReply, model::JobRecord>;
using StepRecords = Records<api::StepsReply, model::StepRecord>;
using NodeRecords = Records<api::NodesReply, model::NodeRecord>;
using PartitionRecords = Records<api::PartitionsReply, model::PartitionRecord>;
using AccountingRecords = Records<api::AccountingReply, api::AccountedJob>;

Result<JobRecords> fetch_jobs(Engine& cluster, api::JobFilter filter, bool with_start_forecast = false,
                              bool brief = false);
Result<StepRecords> fetch_steps(Engine& cluster, api::JobFilter filter);
Result<NodeRecords> fetch_nodes(Engine& cluster);
Result<PartitionRecords> fetch_partitions(Engine& cluster);
Result<AccountingRecords> fetch_accounting(Engine& cluster, const api::QueryAccountingRequest& query);
// The same, but one record after the other, and nothing is kept. Returns the
// cluster's time, s since the epoch.
Result<int64_t> for_each_accounted(Engine& cluster, const api::QueryAccountingRequest& query,
                                   const std::function<void(const api::AccountedJob&)>& take);
// The cluster's name; empty if the cluster does not say.
std::string fetch_cluster_name(Engine& cluster);

// The selector of a job that a user named.
api::JobSelector selector_of(const text::JobReference& job);

}  // namespace minke::engine
