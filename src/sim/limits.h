// Limits of accounts and QOS in a replay: the daemon's ledger, fed by the replay.
//
// A job charges the association of its account and user and the QOS that it named, if those are known,
// else the default one of the association, else "normal". A job that a limit on numbers refuses at
// submission is counted and left out; one that waits for a limit is skipped, as in the daemon. Owned by
// one replay; one thread; pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "accounts/account_book.h"
#include "accounts/limit_ledger.h"
#include "accounts/usage_book.h"
#include "model/cluster.pb.h"
#include "sched/request.h"
#include "sim/multifactor.h"
#include "sim/trace.h"

namespace minke::model {
class QosRecord;
enum StateReason : int;
}  // namespace minke::model

namespace minke::sim {

class Limits {
 public:
  // `book` has everybody whom the trace names (add_missing()). `safe`: a job starts only if the remaining
  // TRES-minutes suffice for its time limit. All must outlive it.
  Limits(const Trace& trace, const MultifactorPolicy& policy, bool safe, const accounts::AccountBook& book,
         std::span<const model::PartitionRecord> partitions);

  // Returns the value for sched::Request::limit_group; nothing if the cluster refuses the job.
  std::optional<std::uint32_t> submitted(std::uint32_t job);
  void started(std::uint32_t job, std::int64_t now);
  void ended(std::uint32_t job, std::int64_t now);
  // Returns why a job of that group may not start now.
  std::optional<model::StateReason> refuse(std::uint32_t group, std::int64_t now);

  const std::map<std::string, std::uint64_t>& refused() const { return refused_; }  // jobs, by reason

 private:
  accounts::Claim claim_of(const TraceJob& job) const;
  accounts::Run run_of(std::uint32_t job, std::int64_t now) const;
  void calculate(std::int64_t now);

  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, accounts::TresCounts>;
  const Trace& trace_;
  const MultifactorPolicy& policy_;
  const bool safe_;
  const accounts::AccountBook& book_;
  const std::span<const model::PartitionRecord> partitions_;
  accounts::LimitLedger ledger_;
  accounts::UsageBook usage_;
  std::unordered_map<std::uint32_t, std::uint32_t> group_of_;  // by job, until it has ended
  std::map<Key, std::uint32_t> groups_;
  std::vector<accounts::Claim> claims_;            // by group - 1
  std::map<std::uint32_t, std::int64_t> running_;  // job: when it started
  accounts::UsageBook::Totals totals_, qos_totals_;
  bool counts_use_ = false;  // some limit applies to past usage
  bool stale_ = true;        // totals_: a run has ended since
  std::map<std::string, std::uint64_t> refused_;
};

// Returns the QOS of a job of the trace; never null.
const model::QosRecord* qos_of(const Trace& trace, const TraceJob& job, const accounts::AccountBook& book);

}  // namespace minke::sim
