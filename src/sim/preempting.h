// Preemption in a replay, as in the daemon's configuration: by QOS or by the
// partitions' tiers.
//
// A preempted job goes back to the queue and runs again from its beginning, at once: grace times are not
// replayed, and the user of a cancelled job is assumed to submit it again. Pure; owned by one replay.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "accounts/account_book.h"
#include "model/cluster.pb.h"
#include "sim/trace.h"

namespace minke::model {
class QosRecord;
}  // namespace minke::model

namespace minke::sim {

struct PreemptingPolicy {
  bool by_qos = false;    // else by partition
  bool everybody = true;  // includes jobs without a mode of their own
};

class Preempting {
 public:
  // `book` has everybody whom the trace names. All must outlive it.
  Preempting(const Trace& trace, const PreemptingPolicy& policy, const accounts::AccountBook& book,
             std::span<const model::PartitionRecord> partitions);

  bool may_be_asked(std::uint32_t running) const { return !groups_[group_of_[running]].off; }
  bool may_ask(std::uint32_t waiting, std::uint32_t running) const;
  // The lower the rank, the earlier it is preempted.
  std::uint64_t rank(std::uint32_t running) const { return groups_[group_of_[running]].rank; }
  // Jobs of one group are alike in all of this.
  std::uint32_t group_of(std::uint32_t job) const { return group_of_[job]; }

 private:
  struct Group {
    const model::QosRecord* qos = nullptr;
    std::uint32_t tier = 0;
    std::uint64_t rank = 0;
    bool off = false;
  };
  const bool by_qos_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> group_of_;  // by job
};

}  // namespace minke::sim
