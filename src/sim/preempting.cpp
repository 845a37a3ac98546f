#include "sim/preempting.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "sim/limits.h"
#include "sim/placed.h"
#include "text/number.h"

namespace minke::sim {

Preempting::Preempting(const Trace& trace, const PreemptingPolicy& policy, const accounts::AccountBook& book,
                       std::span<const model::PartitionRecord> partitions)
    : by_qos_(policy.by_qos) {
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> known;  // by QOS and partition
  for (const TraceJob& job : trace.jobs) {
    const model::PartitionRecord& partition = partition_of(trace, job, partitions);
    const model::QosRecord* qos = qos_of(trace, job, book);
    const auto [entry, is_new] =
        known.try_emplace({qos->id(), partition.name()}, static_cast<std::uint32_t>(groups_.size()));
    group_of_.push_back(entry->second);
    if (!is_new) continue;
    const std::string mode = text::lower_case(by_qos_ ? qos->preempt_mode() : partition.preempt_mode());
    groups_.push_back({qos, partition.priority_tier(), by_qos_ ? qos->priority() : partition.priority_tier(),
                       mode == "off" || (mode.empty() && !policy.everybody)});
  }
}

bool Preempting::may_ask(std::uint32_t waiting, std::uint32_t running) const {
  const Group& own = groups_[group_of_[waiting]];
  const Group& other = groups_[group_of_[running]];
  if (!by_qos_) return own.tier > other.tier;
  const auto& names = own.qos->preempt();
  return std::find(names.begin(), names.end(), other.qos->name()) != names.end();
}

}  // namespace minke::sim
