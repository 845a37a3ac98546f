// Fetching the records that squeue, sinfo, sacct and scontrol show, and what these commands share on the way
// to their output. One thread; blocking.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/client.h"
#include "cli/display/text.h"
#include "rpc/messages.pb.h"
#include "text/job_id.h"

namespace minke::cli {

// Replies are kept whole, because records in them are large; `records` points into them.
template <typename Reply, typename Record>
struct Records {
  std::vector<Reply> replies;
  std::vector<const Record*> records;
  int64_t now = 0;  // the daemon's, s since the epoch
};
using JobRecords = Records<rpc::JobsReply, model::JobRecord>;
using StepRecords = Records<rpc::StepsReply, model::StepRecord>;
using NodeRecords = Records<rpc::NodesReply, model::NodeRecord>;
using PartitionRecords = Records<rpc::PartitionsReply, model::PartitionRecord>;
using AccountingRecords = Records<rpc::AccountingReply, rpc::AccountedJob>;

Result<JobRecords> fetch_jobs(Client& client, rpc::JobFilter filter, bool with_start_forecast = false,
                              bool brief = false);
Result<StepRecords> fetch_steps(Client& client, rpc::JobFilter filter);
Result<NodeRecords> fetch_nodes(Client& client);
Result<PartitionRecords> fetch_partitions(Client& client);
Result<AccountingRecords> fetch_accounting(Client& client, rpc::QueryAccountingRequest query);
// The same, one part of the answer after the other; nothing is kept. Returns the daemon's time, s since the
// epoch.
Result<int64_t> for_each_accounted(Client& client, rpc::QueryAccountingRequest query,
                                   const std::function<void(const rpc::AccountedJob&)>& take);
// The cluster's name; empty where the daemon does not say.
std::string fetch_cluster_name(Client& client);

// A job as it was named, for a request.
rpc::JobSelector selector_of(const text::JobReference& job);

// Splits at commas; empty parts are left out.
std::vector<std::string> split_list(std::string_view text);
// A user's number, or its name. Fails ("Invalid user: NAME") where there is no such user.
Result<uint32_t> user_id_of(const std::string& user);

void write_out(std::string_view text);                                 // to stdout, at once and whole
void print_error(std::string_view command, std::string_view message);  // "squeue: error: …" on stderr

// "Sat Nov 21 00:29:56 2026" and a newline: what the long forms of squeue and sinfo begin with.
std::string date_line(int64_t now);

inline constexpr std::string_view kVersionLine = "slurm 22.05.8\n";  // the Slurm whose language is spoken

}  // namespace minke::cli
