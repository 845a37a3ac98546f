// Routes jobs without a partition: to the partitions that serve their kind and have
// the shortest sufficient time limit. So time classes can be nested: the shorter a
// job, the more nodes it may use.
#include <algorithm>

#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "model/job_spec.pb.h"
#include "text/duration.h"
#include "text/hostlist.h"

namespace minke::engine {

using namespace model;

namespace {

// Whether the job takes all CPUs of each of its nodes.
bool takes_whole_nodes(const JobSpec& spec, uint32_t cpus_of_node) {
  if (spec.exclusive()) return true;
  const uint64_t nodes = std::max(1u, spec.min_nodes());
  const uint64_t tasks = spec.has_ntasks_per_node() ? spec.ntasks_per_node() * nodes : spec.ntasks();
  return cpus_of_node > 0 &&
         std::max<uint64_t>(1, tasks) * std::max(1u, spec.cpus_per_task()) >= cpus_of_node * nodes;
}

}  // namespace

std::vector<const NodeRecord*> Nodes::nodes_of(const PartitionRecord& partition) const {
  const auto names = text::expand_hostlist(partition.nodes());
  std::vector<const NodeRecord*> found;
  for (const NodeRecord& node : nodes_) {
    if (names && std::find(names->begin(), names->end(), node.name()) != names->end()) found.push_back(&node);
  }
  return found;
}

std::string Nodes::route(const JobSpec& spec) const {
  const auto serves = [&](const PartitionRecord& partition, std::string_view kind) {
    const auto found = core_.config.serves.find(partition.name());
    return found != core_.config.serves.end() &&
           std::find(found->second.begin(), found->second.end(), kind) != found->second.end();
  };
  const std::string_view kind = asks_for_gpus(spec) ? "gpu" : "cpu";
  const auto best = [&](const auto& fits) {
    std::string names;
    uint32_t shortest = text::kUnlimited;
    for (const PartitionRecord& partition : partitions_) {
      const uint32_t limit = partition.max_time_minutes();
      if (!fits(partition) || (spec.has_time_limit_minutes() && spec.time_limit_minutes() > limit)) continue;
      if (names.empty() || limit < shortest) {
        names = partition.name();
        shortest = limit;
      } else if (limit == shortest) {
        names += "," + partition.name();
      }
    }
    return names;
  };
  const auto has_gpus = [&](const PartitionRecord& partition) {
    const auto nodes = nodes_of(partition);
    return std::any_of(nodes.begin(), nodes.end(), [](const NodeRecord* node) {
      return std::any_of(node->gres().begin(), node->gres().end(),
                         [](const Gres& gres) { return gres.name() == "gpu" && gres.count() > 0; });
    });
  };
  const auto takes_whole = [&](const PartitionRecord& partition) {
    uint32_t fewest = 0;  // CPUs of a node
    for (const NodeRecord* node : nodes_of(partition))
      fewest = fewest == 0 ? node->cpus() : std::min(fewest, node->cpus());
    return takes_whole_nodes(spec, fewest);
  };
  if (spec.interactive()) {
    const std::string names = best([&](const PartitionRecord& one) {
      return serves(one, "interactive") && (kind == "cpu" || has_gpus(one));
    });
    if (!names.empty()) return names;
  }
  return best([&](const PartitionRecord& one) {
    return serves(one, kind) ||
           (serves(one, "whole") && (kind == "gpu") == (has_gpus(one)) && takes_whole(one));
  });
}

}  // namespace minke::engine
