// The records of a cluster, whole answers at a time, and short ways to ask for them. One thread; blocking.
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

// Replies are kept whole, because records in them are large; `records` points into them.
template <typename Reply, typename Record>
struct Records {
  std::vector<Reply> replies;
  std::vector<const Record*> records;
  int64_t now = 0;  // the cluster's, s since the epoch
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
// The same, one part of the answer after the other; nothing is kept. Returns the cluster's time, s since the
// epoch.
Result<int64_t> for_each_accounted(Engine& cluster, const api::QueryAccountingRequest& query,
                                   const std::function<void(const api::AccountedJob&)>& take);
// The cluster's name; empty where it does not say.
std::string fetch_cluster_name(Engine& cluster);

// A job as it was named, for a request.
api::JobSelector selector_of(const text::JobReference& job);

}  // namespace minke::engine
