#include "sched/explain.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "model/error.h"
#include "sched/placer.h"

namespace minke::sched {
namespace {

class Explainer {
 public:
  Explainer(const Machine& machine, const Request& request)
      : layout_(machine.layout()), request_(request), placer_(machine, View::kIdle) {
    partition_ = "partition " + layout_.partitions()[request.partition].name;
    tasks_ = request.tasks == 0 ? std::max(1u, request.tasks_per_node) : 1;
    for (std::size_t word = 0; word < machine.words(); ++word) {
      for (std::uint64_t set = placer_.suitable_word(request, word); set != 0; set &= set - 1) {
        const NodeId node = layout_.node_at_rank(word * 64 + static_cast<std::size_t>(std::countr_zero(set)));
        if (!std::binary_search(request.excluded.begin(), request.excluded.end(), node))
          nodes_.push_back(node);
      }
    }
  }

  // Slurm's error: what is more than the whole partition has another than what no node of it fits.
  int code() const {
    const LayoutPartition& partition = layout_.partitions()[request_.partition];
    std::uint64_t cpus = 0;
    for (const LayoutNode& node : layout_.nodes())
      if (partition.members.test(node.rank)) cpus += node.cpus;
    const std::uint64_t tasks = request_.tasks > 0 ? request_.tasks
                                                   : std::uint64_t{std::max(1u, request_.min_nodes)} *
                                                         std::max(1u, request_.tasks_per_node);
    if (!request_.overcommit && tasks * request_.cpus_per_task > cpus) return model::kTooManyCpus;
    return request_.min_nodes > partition.size ? model::kInvalidNodeCount : model::kNodeConfigUnavailable;
  }

  std::string text() const {
    if (nodes_.empty()) return no_nodes();
    for (const NodeId node : request_.required) {
      if (std::find(nodes_.begin(), nodes_.end(), node) == nodes_.end()) {
        return "--nodelist: node " + layout_.nodes()[node].name + " does not satisfy the constraints";
      }
    }
    std::string problem = cpus();
    if (problem.empty()) problem = memory();
    if (problem.empty()) problem = gres();
    if (problem.empty()) problem = temporary_space();
    if (problem.empty()) problem = number_of_nodes();
    return problem;
  }

 private:
  std::string no_nodes() const {
    if (request_.any_of.empty()) return "no node of " + partition_ + " is left to choose from";
    std::string constraint;
    for (const auto& all_of : request_.any_of) {
      if (!constraint.empty()) constraint += '|';
      for (const FeatureId feature : all_of) {
        if (feature != all_of.front()) constraint += '&';
        constraint += layout_.feature_name(feature);
      }
    }
    return "--constraint=" + constraint + ": no node of " + partition_ + " has these features";
  }

  template <typename Value>
  std::uint64_t largest(Value value) const {
    std::uint64_t result = 0;
    for (const NodeId node : nodes_) result = std::max<std::uint64_t>(result, value(layout_.nodes()[node]));
    return result;
  }

  std::uint64_t gpus_on_each() const {
    std::uint64_t gpus = 0;
    for (const GresDemand& demand : request_.gres) {
      if (layout_.gpu_name() != demand.name) continue;
      gpus += demand.per_node + std::uint64_t{demand.per_task} * tasks_ + (demand.per_job > 0 ? 1 : 0);
    }
    return gpus;
  }

  std::uint64_t cpus_on_each() const {
    return std::max<std::uint64_t>({tasks_ * request_.cpus_per_task, request_.min_cpus_per_node,
                                    gpus_on_each() * request_.cpus_per_gpu});
  }

  std::string cpus() const {
    const std::uint64_t most = largest([](const LayoutNode& node) { return node.cpus; });
    const std::uint64_t needed = cpus_on_each();
    const std::uint64_t allowed =
        request_.rules.cpu_group == 0 ? kUnlimited : largest([this](const LayoutNode& node) {
          return static_cast<std::uint64_t>(request_.rules.cpus_on(node.sockets));
        });
    if (needed <= std::min<std::uint64_t>(most, allowed)) return {};
    std::string option = "--mincpus=" + std::to_string(request_.min_cpus_per_node);
    if (needed == tasks_ * request_.cpus_per_task) {
      option = "--cpus-per-task=" + std::to_string(request_.cpus_per_task);
      if (tasks_ > 1) option = "--ntasks-per-node=" + std::to_string(tasks_) + " with " + option;
    } else if (needed == gpus_on_each() * request_.cpus_per_gpu) {
      option = "--cpus-per-gpu=" + std::to_string(request_.cpus_per_gpu) + " with " +
               std::to_string(gpus_on_each()) + " GPUs";
    }
    if (allowed < most)
      return option + ": " + partition_ + " allows at most " + std::to_string(allowed) + " CPUs on a node";
    return option + ": the largest node of " + partition_ + " has " + std::to_string(most) + " CPUs";
  }

  std::string memory() const {
    const std::uint64_t most = largest([](const LayoutNode& node) { return node.memory_mib; });
    std::uint64_t units = 1;
    std::string option = "--mem=" + memory_text(request_.memory_mib);
    if (request_.memory == MemoryDemand::kPerCpu) {
      units = cpus_on_each();
      option = "--mem-per-cpu=" + memory_text(request_.memory_mib);
      if (units > 1) option += " with " + std::to_string(units) + " CPUs";
    } else if (request_.memory == MemoryDemand::kPerGpu) {
      units = gpus_on_each();
      option = "--mem-per-gpu=" + memory_text(request_.memory_mib);
      if (units > 1) option += " with " + std::to_string(units) + " GPUs";
    } else if (request_.memory != MemoryDemand::kPerNode) {
      return {};
    }
    if (request_.memory_mib * units <= most) return {};
    return option + ": the largest node of " + partition_ + " has " + memory_text(most);
  }

  std::string gres() const {
    for (const GresDemand& demand : request_.gres) {
      const std::uint64_t needed =
          demand.per_node + std::uint64_t{demand.per_task} * tasks_ + (demand.per_job > 0 ? 1 : 0);
      const auto on_node = [&](const LayoutNode& node) {
        std::uint64_t count = 0;
        for (std::uint32_t p = node.first_pool; p < node.first_pool + node.pool_count; ++p) {
          const GresPool& pool = layout_.pools()[p];
          const bool counts = demand.kind == kAnyKind ? pool.name == demand.name : pool.kind == demand.kind;
          if (!counts) continue;
          count += layout_.is_shard(pool.name) ? node.shards_per_gpu : pool.units;
        }
        return count;
      };
      const std::uint64_t most = largest(on_node);
      if (most >= needed) continue;
      if (most == 0) {
        return gres_text(layout_, demand.name, demand.kind, needed) + ": no node of " + partition_ +
               " has any";
      }
      return gres_text(layout_, demand.name, demand.kind, needed) + " on one node: the most that a node of " +
             partition_ + " has is " + std::to_string(most);
    }
    return {};
  }

  std::string temporary_space() const {
    const std::uint64_t most = largest([](const LayoutNode& node) { return node.tmp_mib; });
    if (request_.tmp_mib <= most) return {};
    return "--tmp=" + memory_text(request_.tmp_mib) + ": the largest /tmp of " + partition_ + " has " +
           memory_text(most);
  }

  std::string number_of_nodes() const {
    std::uint64_t suitable = 0;
    std::uint64_t tasks = 0;
    std::uint64_t job_gres = 0;
    for (const NodeId node : nodes_) {
      Placer::Capacity capacity;
      const bool able = placer_.capacity(node, request_, capacity);
      if (!able && std::binary_search(request_.required.begin(), request_.required.end(), node)) {
        return "--nodelist: node " + layout_.nodes()[node].name + " is too small for this request";
      }
      if (!able) continue;
      ++suitable;
      tasks += capacity.tasks;
      job_gres += capacity.job_gres;
    }
    if (suitable == 0) return "no single node of " + partition_ + " has all that is asked for at once";
    if (suitable < request_.min_nodes) {
      return "--nodes=" + std::to_string(request_.min_nodes) + ": " + partition_ + " has " +
             std::to_string(suitable) + (suitable == 1 ? " node" : " nodes") +
             " that could serve this request";
    }
    const std::string on_nodes =
        request_.max_nodes < suitable ? " on " + std::to_string(request_.max_nodes) + " of its nodes" : "";
    if (request_.tasks > tasks || (request_.tasks > 0 && request_.max_nodes < suitable)) {
      return "--ntasks=" + std::to_string(request_.tasks) + ": " + partition_ + " has no room for so many" +
             on_nodes;
    }
    for (const GresDemand& demand : request_.gres) {
      if (demand.per_job == 0) continue;
      return gres_text(layout_, demand.name, demand.kind, demand.per_job) + ": " + partition_ +
             " has no room for so many" + on_nodes;
    }
    return "no set of nodes of " + partition_ + " satisfies this request";
  }

  const MachineLayout& layout_;
  const Request& request_;
  const Placer placer_;
  std::string partition_;
  std::uint64_t tasks_ = 1;    // on each node, at least
  std::vector<NodeId> nodes_;  // that partition, constraint and exclusions leave
};

}  // namespace

Status explain_impossible(const Machine& machine, const Request& request) {
  const Explainer explainer(machine, request);
  return failure(explainer.text(), explainer.code());
}

std::string memory_text(std::uint64_t mib) {
  constexpr std::string_view kUnits = "MGTP";
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && mib > 0 && mib % 1024 == 0; ++unit) mib /= 1024;
  return std::to_string(mib) + kUnits[unit];
}

std::string gres_text(const MachineLayout& layout, GresNameId name, GresKindId kind, std::uint64_t count) {
  std::string text = layout.gres_name(name) + ":";
  if (kind != kAnyKind && !layout.gres_kinds()[kind].type.empty())
    text += layout.gres_kinds()[kind].type + ":";
  return text + std::to_string(count);
}

}  // namespace minke::sched
