#include "view/node_text.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_terms.pb.h"
#include "model/no_consume.h"
#include "model/shards.h"
#include "text/gres_count.h"
#include "text/tres.h"

namespace minke::view {

ShownNodeState shown_state(const model::NodeRecord& node) {
  ShownNodeState state;
  state.drain = node.state() == model::NODE_DRAIN || node.state() == model::NODE_DOWN_DRAIN;
  state.fail = node.state() == model::NODE_FAIL;
  state.future = node.state() == model::NODE_FUTURE;
  state.maintenance = node.maintenance();
  if (node.state() == model::NODE_DOWN || node.state() == model::NODE_DOWN_DRAIN || state.future) {
    state.base = NodeBaseState::kDown;
  } else if (node.allocated_cpus() == 0 && node.running_jobs() == 0) {
    state.base = NodeBaseState::kIdle;
  } else {
    state.base = node.allocated_cpus() >= node.cpus() ? NodeBaseState::kAllocated : NodeBaseState::kMixed;
  }
  state.reserved = !node.reservation().empty();
  return state;
}

ShownNodeState sinfo_state(const model::NodeRecord& node) {
  ShownNodeState state = shown_state(node);
  if (state.drain && state.base == NodeBaseState::kMixed) state.base = NodeBaseState::kAllocated;
  return state;
}

std::string_view state_short(ShownNodeState state) {
  if (state.future) return "futr";
  if (state.maintenance && !state.drain && state.base == NodeBaseState::kIdle) return "maint";
  if (state.fail) return "fail";
  if (state.drain)
    return state.base == NodeBaseState::kAllocated || state.base == NodeBaseState::kMixed ? "drng" : "drain";
  switch (state.base) {
    case NodeBaseState::kDown:
      return "down";
    case NodeBaseState::kIdle:
      return state.reserved ? "resv" : "idle";
    case NodeBaseState::kAllocated:
      return state.maintenance ? "alloc$" : "alloc";
    case NodeBaseState::kMixed:
      return state.maintenance ? "mix$" : "mix";
  }
  return "unk";
}

std::string_view state_long(ShownNodeState state) {
  if (state.future) return "future";
  if (state.maintenance && !state.drain && state.base == NodeBaseState::kIdle) return "maint";
  if (state.fail) return "fail";
  if (state.drain)
    return state.base == NodeBaseState::kAllocated || state.base == NodeBaseState::kMixed ? "draining"
                                                                                          : "drained";
  switch (state.base) {
    case NodeBaseState::kDown:
      return "down";
    case NodeBaseState::kIdle:
      return state.reserved ? "reserved" : "idle";
    case NodeBaseState::kAllocated:
      return state.maintenance ? "allocated$" : "allocated";
    case NodeBaseState::kMixed:
      return state.maintenance ? "mixed$" : "mixed";
  }
  return "unknown";
}

std::string state_complete(ShownNodeState state) {
  const ShownNodeState all = state;
  state.drain = state.fail = state.maintenance = state.reserved = false;
  std::string words(state_long(state));
  if (all.drain) words += "+drain";
  if (all.fail) words += "+fail";
  if (all.maintenance) words += "+maintenance";
  if (all.reserved) words += "+reserved";
  return words;
}

int state_order(ShownNodeState state) {
  return static_cast<int>(state.base) + (state.drain ? 0x200 : 0) + (state.fail ? 0x800 : 0);
}

namespace {

// Appends "shard:3(2/4,1/4)": how many of each GPU are in use.
void append_shards_used(std::string& out, const model::NodeRecord& node, const model::Gres& offered,
                        const std::vector<uint32_t>& used, const char* separator) {
  const auto gpus = static_cast<uint32_t>(text::gpus_in(node.gres()));
  std::vector<uint32_t> of_gpu(gpus, 0);
  for (const uint32_t shard : used)
    if (shard / model::kShardsOfGpu < gpus) ++of_gpu[shard / model::kShardsOfGpu];
  fmt::format_to(std::back_inserter(out), "{}shard:{}(", separator, used.size());
  for (uint32_t i = 0; i < gpus; ++i)
    fmt::format_to(std::back_inserter(out), "{}{}/{}", i == 0 ? "" : ",", of_gpu[i],
                   offered.count() / gpus + (i < gpus - offered.count() % gpus ? 0 : 1));
  out += ')';
}

}  // namespace

const std::string& host_name_of(const model::NodeRecord& node) {
  return node.is_virtual() || node.host_name().empty() ? node.name() : node.host_name();
}

void append_gres_used(std::string& out, const model::NodeRecord& node) {
  if (node.gres().empty()) {
    out += "gpu:0";
    return;
  }
  const char* separator = "";
  for (const model::Gres& offered : node.gres()) {
    std::vector<uint32_t> used;
    uint64_t units = 0;
    for (const model::GresAllocation& held : node.held_gres()) {
      if (held.name() != offered.name() || held.type() != offered.type()) continue;
      used.insert(used.end(), held.indices().begin(), held.indices().end());
      units += text::units_of(held);
    }
    if (offered.name() == "shard") {
      append_shards_used(out, node, offered, used, separator);
      separator = ",";
      continue;
    }
    const std::string_view type = model::type_of(offered.type());
    fmt::format_to(std::back_inserter(out), "{}{}{}{}:{}", separator, offered.name(), type.empty() ? "" : ":",
                   type, units);
    separator = ",";
    if (offered.name() != "gpu") continue;
    fmt::format_to(std::back_inserter(out), "(IDX:{})", used.empty() ? "N/A" : text::format_indices(used));
  }
}

}  // namespace minke::view
