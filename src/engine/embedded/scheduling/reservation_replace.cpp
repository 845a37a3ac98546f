// Reservations with a number of nodes: a node that is down or drained, and with REPLACE also one that a job
// was given, is replaced by an idle one while there are any. STATIC_ALLOC and MAINT keep their nodes. State's
// thread.
#include <algorithm>
#include <set>

#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/reservations.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

std::set<std::string> nodes_with_jobs(const State& state) {
  std::set<std::string> names;
  for (const auto& [id, job] : state.jobs()) {
    if (!job->holds_nodes() || !job->details) continue;
    for (const NodeAllocation& node : job->details->nodes) names.insert(node.node());
  }
  return names;
}

bool is_replacing(const ReservationRecord& record) {
  return !has_flag(record, "STATIC") && !has_flag(record, "MAINT") && !has_flag(record, "SPEC_NODES") &&
         record.core_count() == 0 && record.gpu_count() == 0 && record.gres().empty();
}

}  // namespace

bool Reservations::serves(const ReservationRecord& record, const NodeRecord& node) const {
  const PartitionRecord* partition = core_.nodes->find_partition(record.partition());
  const auto members = partition == nullptr ? failure("") : text::expand_hostlist(partition->nodes());
  if (!members || std::find(members->begin(), members->end(), node.name()) == members->end()) return false;
  if (!is_available(node.state())) return false;
  for (const std::string_view feature : text::split(record.features(), '&')) {
    const auto& offered = node.active_features();
    if (!feature.empty() && std::find(offered.begin(), offered.end(), feature) == offered.end()) return false;
  }
  return free_cpus(record, node).has_value();
}

void Reservations::replace_nodes() {
  if (std::none_of(records_.begin(), records_.end(), is_replacing)) return;
  const std::set<std::string> busy = nodes_with_jobs(core_.state);
  bool changed = false;
  for (ReservationRecord& record : records_) {
    if (!is_replacing(record) || core_.now() >= record.end_time()) continue;
    const bool jobs_too = has_flag(record, "REPLACE") && is_active(record);
    std::set<std::string> own;
    for (const auto& share : record.shares()) own.insert(share.node());
    bool replaced = false;
    for (ReservationRecord::Share& share : *record.mutable_shares()) {
      const NodeRecord* node = core_.nodes->find_node(share.node());
      const bool stays =
          node != nullptr && is_available(node->state()) && !(jobs_too && busy.contains(share.node()));
      if (stays) continue;
      const auto& all = core_.nodes->nodes();
      const auto other = std::find_if(all.begin(), all.end(), [&](const NodeRecord& candidate) {
        return !own.contains(candidate.name()) && !busy.contains(candidate.name()) &&
               serves(record, candidate);
      });
      if (other == all.end()) continue;
      own.insert(other->name());
      share.set_node(other->name());
      replaced = true;
    }
    if (!replaced) continue;
    keep(record);
    changed = true;
  }
  if (changed) core_.cluster_events.tell(&ClusterListener::layout_changed);
}

}  // namespace minke::engine
