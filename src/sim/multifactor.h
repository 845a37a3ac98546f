// Multifactor priority in a replay: computed for pending jobs as in the daemon, from the same parts.
//
// Age, fair share, size, partition, QOS and TRES count; traces have no nice and site factors. Each
// calculate() computes fair share anew, from the usage of ended and running jobs up to then. Owned by one
// replay; one thread; pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "accounts/account_book.h"
#include "accounts/fair_tree.h"
#include "accounts/tres_weights.h"
#include "accounts/usage_book.h"
#include "base/result.h"
#include "model/cluster.pb.h"
#include "sched/allocation_shares.h"
#include "sched/machine.h"
#include "sched/priority.h"
#include "sim/trace.h"

namespace minke::sim {

struct MultifactorPolicy {
  sched::PriorityWeights weights;
  accounts::TresWeights tres;
  std::int64_t half_life = 0;      // s; 0: usage does not decay
  std::int64_t calc_period = 300;  // s between two calculations, while jobs are pending
  bool allocation_shares = false;  // shares follow from core-years and RGU-years
  std::vector<std::pair<std::string, accounts::TresWeights>> billing;  // by partition; missing: the CPUs
};

// Returns a job's request, in the form for limits and billing.
accounts::TresCounts tres_counts(const Trace& trace, const TraceJob& job);
double billing_of(const accounts::TresCounts& counts, const MultifactorPolicy& policy,
                  const std::string& partition);

class Multifactor {
 public:
  // `book` has everybody whom the trace names (add_missing()). All must outlive it.
  Multifactor(const Trace& trace, const MultifactorPolicy& policy, const accounts::AccountBook& book,
              std::span<const model::PartitionRecord> partitions, const sched::Machine& machine);

  // Includes the partition's tier, as in PendingEntry.
  std::uint64_t priority(std::uint32_t job, std::int64_t now) const;
  void submitted(std::uint32_t job);
  void started(std::uint32_t job, std::int64_t now);
  void ended(std::uint32_t job, std::int64_t now);
  void calculate(std::int64_t now);
  std::int64_t calc_period() const { return policy_.calc_period; }

 private:
  struct Known {  // of each job
    std::uint32_t association = 0;
    std::uint32_t tier = 0;
    double billing = 0;
    double usage_factor = 1;  // of its QOS
    double fixed = 0;         // the part of its priority that does not change
  };
  double available(const std::string& tres) const;

  const Trace& trace_;
  const MultifactorPolicy& policy_;
  const accounts::AccountBook& book_;
  const sched::MachineLayout& layout_;
  std::vector<Known> jobs_;
  accounts::UsageBook usage_;
  std::unordered_map<std::uint32_t, accounts::Run> running_;      // by job
  std::unordered_map<std::uint32_t, std::uint64_t> active_;       // jobs, by association with all above
  std::unordered_map<std::uint32_t, accounts::FairShare> ranks_;  // by association
};

}  // namespace minke::sim
