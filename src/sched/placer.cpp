#include "sched/placer.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace minke::sched {
namespace {

std::uint32_t job_wide_gres(const Request& request) {
  for (const GresDemand& demand : request.gres) {
    if (demand.per_job > 0) return demand.per_job;
  }
  return 0;
}

std::uint64_t demanded(const GresDemand& demand, std::uint64_t tasks, std::uint64_t job_gres) {
  return demand.per_node + demand.per_task * tasks + (demand.per_job > 0 ? job_gres : 0);
}

std::uint64_t gpus_demanded(const MachineLayout& layout, const Request& request, std::uint64_t tasks,
                            std::uint64_t job_gres) {
  std::uint64_t gpus = 0;
  for (const GresDemand& demand : request.gres) {
    if (layout.gpu_name() == demand.name) gpus += demanded(demand, tasks, job_gres);
  }
  return gpus;
}

std::uint64_t gpus_of(const MachineLayout& layout, const LayoutNode& node) {
  std::uint64_t gpus = 0;
  for (std::uint32_t i = 0; i < node.pool_count; ++i) {
    const GresPool& pool = layout.pools()[node.first_pool + i];
    if (layout.gpu_name() == pool.name) gpus += pool.units;
  }
  return gpus;
}

struct NodeNeed {
  std::uint64_t cpus = 0;
  std::uint64_t memory_mib = 0;
};

NodeNeed need_of(const MachineLayout& layout, const Request& request, const LayoutNode& node,
                 std::uint64_t tasks, std::uint64_t job_gres) {
  NodeNeed need;
  const bool counts_gpus = request.cpus_per_gpu > 0 || request.memory == MemoryDemand::kPerGpu;
  const std::uint64_t gpus = counts_gpus ? gpus_demanded(layout, request, tasks, job_gres) : 0;
  const std::uint64_t tasks_with_cpus = request.overcommit ? std::min<std::uint64_t>(tasks, 1) : tasks;
  need.cpus = std::max<std::uint64_t>(
      {tasks_with_cpus * request.cpus_per_task, request.min_cpus_per_node, gpus * request.cpus_per_gpu});
  switch (request.memory) {
    case MemoryDemand::kNone:
      break;
    case MemoryDemand::kPerNode:
      need.memory_mib = request.memory_mib;
      break;
    case MemoryDemand::kPerCpu:
      need.memory_mib = request.memory_mib * need.cpus;
      // Who has the whole node has the memory of all its CPUs (below: GPUs), as far as there is so much.
      if (request.exclusive)
        need.memory_mib =
            std::max(need.memory_mib, std::min(request.memory_mib * node.cpus, node.memory_mib));
      break;
    case MemoryDemand::kPerGpu:
      need.memory_mib = request.memory_mib * gpus;
      if (request.exclusive)
        need.memory_mib =
            std::max(need.memory_mib, std::min(request.memory_mib * gpus_of(layout, node), node.memory_mib));
      break;
    case MemoryDemand::kWholeNode:
      need.memory_mib = node.memory_mib;
      break;
  }
  return need;
}

// The largest value in [low, high] that fits, given that `low` does and that fitting is monotone.
template <typename Fits>
std::uint32_t largest_fitting(std::uint32_t low, std::uint32_t high, Fits fits) {
  if (fits(high)) return high;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

// A job's shards on a node are of one GPU: which has at least `wanted` free, as few as possible, and how
// many? All of them where none has.
struct SharedGpu {
  DeviceSet shards;
  std::int32_t count = 0;
};
template <typename Better>
SharedGpu best_gpu(const DeviceSet& free, std::uint32_t each, Better better) {
  SharedGpu best;
  for (std::uint32_t first = 0; each > 0 && first < kMostDevices; first += each) {
    std::int32_t count = 0;
    for (std::uint32_t shard = first; shard < std::min(first + each, kMostDevices); ++shard)
      count += free.test(shard);
    if (better(count, best.count)) best = {free & device_range(first, each), count};
  }
  return best;
}
SharedGpu least_on_a_gpu(const DeviceSet& free, std::uint32_t each, std::int32_t wanted) {
  return best_gpu(free, each, [wanted](std::int32_t count, std::int32_t best) {
    return count >= wanted && (best < wanted || count < best);
  });
}
std::int32_t most_on_a_gpu(const DeviceSet& free, std::uint32_t each) {
  return best_gpu(free, each, [](std::int32_t count, std::int32_t best) { return count > best; }).count;
}

}  // namespace

Placer::Placer(const Machine& machine, View view, const Caps* caps, std::int64_t from, std::int64_t end)
    : machine_(machine), layout_(machine.layout()), view_(view), caps_(caps), from_(from), end_(end) {}

bool Placer::load(NodeId id, const Request& request, NodeSupply& supply) const {
  const LayoutNode& node = layout_.nodes()[id];
  if (view_ == View::kFree) {
    if (!machine_.available(id) || machine_.free_cpus(id) <= 0) return false;
    if (!machine_.welcomes(id, request.rules)) return false;
    supply.cpus = machine_.free_cpus(id);
    supply.memory_mib = machine_.free_memory_mib(id);
    // Devices are counted for those who ask for some; caps and holds lower all counts.
    const bool lowered = caps_ != nullptr || machine_.holds() != nullptr;
    const std::uint32_t counted = request.gres.empty() && !lowered ? 0 : node.pool_count;
    for (std::uint32_t i = 0; i < counted; ++i) {
      supply.counts[i] = machine_.free_device_count(node.first_pool + i);
      if (layout_.is_shard(layout_.pools()[node.first_pool + i].name))
        supply.counts[i] = most_on_a_gpu(machine_.free_devices(node.first_pool + i), node.shards_per_gpu);
    }
  } else {
    if (view_ == View::kIdleAvailable && !machine_.available(id)) return false;
    supply.cpus = node.cpus;
    supply.memory_mib = static_cast<std::int64_t>(node.memory_mib);
    for (std::uint32_t i = 0; i < node.pool_count; ++i) {
      const GresPool& pool = layout_.pools()[node.first_pool + i];
      supply.counts[i] = layout_.is_shard(pool.name) ? static_cast<std::int32_t>(node.shards_per_gpu)
                                                     : static_cast<std::int32_t>(pool.units);
    }
  }
  if (request.rules.cpu_group != 0) {
    const bool idle = view_ != View::kFree;
    supply.cpus = std::min(supply.cpus, idle ? request.rules.cpus_on(node.sockets)
                                             : machine_.group_cpus_left(id, request.rules));
  }
  if (caps_ != nullptr) caps_->limit(id, from_, end_, request.rules, supply);
  const Holds* holds = machine_.holds();
  return holds == nullptr || holds->limit(id, layout_.pools_of(id), request.reservation, from_, end_,
                                          machine_.held_in_use(), supply);
}

bool Placer::fits(const Request& request, const LayoutNode& node, const NodeSupply& supply,
                  std::uint64_t tasks, std::uint64_t job_gres) const {
  const NodeNeed need = need_of(layout_, request, node, tasks, job_gres);
  if (static_cast<std::int64_t>(need.cpus) > supply.cpus) return false;
  if (need.memory_mib > 0 && static_cast<std::int64_t>(need.memory_mib) > supply.memory_mib) return false;
  std::int64_t typed = 0;  // of the name at hand; typed demands of a name precede the untyped one
  for (std::size_t i = 0; i < request.gres.size(); ++i) {
    const GresDemand& demand = request.gres[i];
    if (i == 0 || request.gres[i - 1].name != demand.name) typed = 0;
    const auto wanted = static_cast<std::int64_t>(demanded(demand, tasks, job_gres));
    std::int64_t there = 0;
    for (std::uint32_t p = 0; p < node.pool_count; ++p) {
      const GresPool& pool = layout_.pools()[node.first_pool + p];
      if (demand.kind == kAnyKind ? pool.name == demand.name : pool.kind == demand.kind)
        there += supply.counts[p];
    }
    if (demand.kind == kAnyKind) there -= typed;
    if (there < wanted) return false;
    typed += wanted;
  }
  return true;
}

bool Placer::capacity(NodeId id, const Request& request, Capacity& result) const {
  const LayoutNode& node = layout_.nodes()[id];
  // Mostly it is the CPUs, and that is quickly seen.
  if (view_ == View::kFree &&
      machine_.free_cpus(id) < static_cast<std::int64_t>(least_cpus_on_a_node(request)))
    return false;
  NodeSupply supply;
  if (request.tmp_mib > node.tmp_mib || !load(id, request, supply)) return false;
  if (request.exclusive && supply.cpus != node.cpus) return false;  // whatever runs here has a CPU
  std::uint64_t most = kNoLimit;
  if (request.tasks_per_socket > 0) most = std::uint64_t{request.tasks_per_socket} * node.sockets;
  if (request.tasks_per_core > 0) most = std::min(most, std::uint64_t{request.tasks_per_core} * node.cores);
  const std::uint32_t job_gres = job_wide_gres(request);
  const std::uint32_t one = job_gres > 0 ? 1 : 0;

  std::uint32_t fewest_tasks = 1;
  result.rank = node.rank;
  if (request.tasks == 0) {
    fewest_tasks = std::max(1u, request.tasks_per_node);
    if (fewest_tasks > most || !fits(request, node, supply, fewest_tasks, one)) return false;
    result.tasks = fewest_tasks;
  } else {
    if (request.tasks_per_node > 0) most = std::min<std::uint64_t>(most, request.tasks_per_node);
    most = std::min<std::uint64_t>(most, request.tasks);
    if (!request.overcommit) {
      most = std::min(
          most, static_cast<std::uint64_t>(std::max<std::int64_t>(0, supply.cpus)) / request.cpus_per_task);
    }
    if (most == 0 || !fits(request, node, supply, 1, one)) return false;
    result.tasks = largest_fitting(1, static_cast<std::uint32_t>(most), [&](std::uint32_t tasks) {
      return fits(request, node, supply, tasks, one);
    });
  }
  result.job_gres = job_gres == 0 ? 0 : largest_fitting(1, job_gres, [&](std::uint32_t count) {
    return fits(request, node, supply, fewest_tasks, count);
  });
  return true;
}

std::uint64_t Placer::suitable_word(const Request& request, std::size_t word, std::uint64_t cpus,
                                    std::uint64_t devices) const {
  std::uint64_t set = layout_.partitions()[request.partition].members.word(word);
  if (view_ == View::kFree) {
    set &= machine_.with_free_cpus(cpus).word(word);
    if (devices > 0) set &= machine_.with_free_devices(devices).word(word);
  }
  if (set == 0 || request.any_of.empty()) return set;
  std::uint64_t featured = 0;
  for (const auto& all_of : request.any_of) {
    std::uint64_t term = set;
    for (const FeatureId feature : all_of) term &= layout_.nodes_with_feature(feature).word(word);
    featured |= term;
  }
  return featured;
}

bool Placer::select(const Request& request, std::uint32_t first_rank) {
  if (request.cases.empty() && request.feature_counts.empty() && !request.contiguous &&
      request.node_counts.empty())
    return select_case(request, first_rank);
  if (!chosen_case_) chosen_case_ = request;
  const auto try_case = [&](const FeatureTerms& any_of) {
    chosen_case_->any_of = any_of;
    chosen_case_->required = request.required;
    if (!require_counted()) return false;
    if (request.contiguous) return select_contiguous();
    return request.node_counts.empty() ? select_case(*chosen_case_, 0) : select_counts();
  };
  if (request.cases.empty()) return try_case(request.any_of);
  return std::any_of(request.cases.begin(), request.cases.end(), try_case);
}

// Numbers of nodes that it may have: from the least to the most, or from the most down.
std::vector<std::uint32_t> Placer::counts_to_try(const Request& request) const {
  std::vector<std::uint32_t> counts = request.node_counts;
  const auto total = static_cast<std::uint32_t>(layout_.nodes().size());
  for (std::uint32_t count = request.min_nodes;
       request.node_counts.empty() && count <= std::min(request.max_nodes, total); ++count)
    counts.push_back(count);
  std::erase_if(counts, [&](std::uint32_t count) { return count > total; });
  if (request.as_many_nodes) std::reverse(counts.begin(), counts.end());
  return counts;
}

bool Placer::select_counts() {
  Request& request = *chosen_case_;
  const Request asked = request;
  request.as_many_nodes = false;
  for (const std::uint32_t count : counts_to_try(asked)) {
    request.min_nodes = request.max_nodes = count;
    if (select_case(request, 0)) return true;
  }
  request.min_nodes = asked.min_nodes;
  request.max_nodes = asked.max_nodes;
  request.as_many_nodes = asked.as_many_nodes;
  return false;
}

// The least number of nodes (the greatest, where as many as possible are wanted) that follow one another.
bool Placer::select_contiguous() {
  Request& request = *chosen_case_;
  const std::vector<NodeId> excluded = request.excluded;
  const std::uint32_t least = request.min_nodes;
  const std::uint32_t most = request.max_nodes;
  const std::vector<std::uint32_t> counts = counts_to_try(request);
  const bool as_many = std::exchange(request.as_many_nodes, false);
  const auto total = static_cast<std::uint32_t>(layout_.nodes().size());
  bool found = false;
  for (auto at = counts.begin(); at != counts.end() && !found; ++at) {
    const std::uint32_t count = *at;
    request.min_nodes = request.max_nodes = count;
    for (NodeId first = 0; first + count <= total && !found; ++first) {
      request.excluded = excluded;
      for (NodeId node = 0; node < total; ++node) {
        if (node < first || node >= first + count) request.excluded.push_back(node);
      }
      std::sort(request.excluded.begin(), request.excluded.end());
      found = select_case(request, 0);
    }
  }
  request.excluded = excluded;
  request.min_nodes = least;
  request.max_nodes = most;
  request.as_many_nodes = as_many;
  return found;
}

// Makes the first nodes that have the features that are counted, and room, required ones.
bool Placer::require_counted() {
  Request& request = *chosen_case_;
  std::vector<NodeId> taken;
  for (const FeatureCount& counted : request.feature_counts) {
    std::uint32_t left = counted.nodes;
    for (std::size_t word = 0; word < machine_.words() && left > 0; ++word) {
      std::uint64_t set = suitable_word(request, word);
      for (const FeatureId feature : counted.features) set &= layout_.nodes_with_feature(feature).word(word);
      for (; set != 0 && left > 0; set &= set - 1) {
        const NodeId node = layout_.node_at_rank(word * 64 + static_cast<std::size_t>(std::countr_zero(set)));
        Capacity found;
        if (std::find(taken.begin(), taken.end(), node) != taken.end() ||
            std::binary_search(request.excluded.begin(), request.excluded.end(), node) ||
            !capacity(node, request, found)) {
          continue;
        }
        taken.push_back(node);
        --left;
      }
    }
    if (left > 0) return false;
  }
  for (const NodeId node : taken) request.required.push_back(node);
  std::sort(request.required.begin(), request.required.end());
  request.required.erase(std::unique(request.required.begin(), request.required.end()),
                         request.required.end());
  return request.required.size() <= request.max_nodes;
}

bool Placer::select_case(const Request& request, std::uint32_t first_rank) {
  request_ = &request;
  tasks_on_each_ = request.tasks == 0 ? std::max(1u, request.tasks_per_node) : 0;
  job_gres_ = job_wide_gres(request);
  chosen_.clear();
  const bool one_may_do = request.min_nodes <= 1 && request.required.size() <= 1 &&
                          (!request.as_many_nodes || request.max_nodes == 1);
  if (one_may_do && select_one(first_rank)) return true;
  return request.max_nodes > 1 && select_several();
}

bool Placer::select_one(std::uint32_t first_rank) {
  const Request& request = *request_;
  const std::uint32_t tasks = std::max(request.tasks, tasks_on_each_);
  const std::size_t words = machine_.words();
  const std::uint64_t cpus = std::max<std::uint64_t>(
      std::uint64_t{request.overcommit ? 1 : tasks} * request.cpus_per_task, request.min_cpus_per_node);
  std::uint64_t devices = 0;
  for (const GresDemand& demand : request.gres) devices += demanded(demand, tasks, job_gres_);
  for (std::size_t word = first_rank / 64; word < words; ++word) {
    std::uint64_t set = suitable_word(request, word, cpus, devices);
    if (word == first_rank / 64) set &= ~std::uint64_t{0} << (first_rank % 64);
    for (; set != 0; set &= set - 1) {
      const NodeId node = layout_.node_at_rank(word * 64 + static_cast<std::size_t>(std::countr_zero(set)));
      if (!request.required.empty() && request.required.front() != node) continue;
      if (std::binary_search(request.excluded.begin(), request.excluded.end(), node)) continue;
      Capacity found;
      if (!capacity(node, request, found) || found.tasks < tasks || found.job_gres < job_gres_) continue;
      if (chosen_.empty()) {
        chosen_.push_back(found);
      } else if (less_loaded(found.rank, chosen_.front().rank)) {
        chosen_.front() = found;
      }
      if (!request.least_loaded || view_ != View::kFree) return true;
    }
  }
  return !chosen_.empty();
}

// Whether a greater part of its CPUs is free.
bool Placer::less_loaded(std::uint32_t rank, std::uint32_t other) const {
  const auto free = [this](std::uint32_t at) { return machine_.free_cpus(layout_.node_at_rank(at)); };
  const auto all = [this](std::uint32_t at) {
    return std::int64_t{layout_.nodes()[layout_.node_at_rank(at)].cpus};
  };
  return free(rank) * all(other) > free(other) * all(rank);
}

// Whole nodes have room for more: there tasks are dealt out one by one. By chosen node.
std::vector<std::uint32_t> Placer::dealt_out() const {
  std::vector<std::uint32_t> tasks(chosen_.size(), 0);
  for (std::uint32_t left = request_->tasks; left > 0;) {
    for (std::size_t i = 0; i < chosen_.size() && left > 0; ++i) {
      if (tasks[i] == chosen_[i].tasks) continue;
      ++tasks[i];
      --left;
    }
  }
  return tasks;
}

Placement Placer::placement() const {
  MINKE_CHECK(view_ == View::kFree && !chosen_.empty());
  Placement result;
  result.nodes.reserve(chosen_.size());
  result.reservation = request_->reservation;
  std::uint32_t tasks_left = request_->tasks;
  std::uint32_t gres_left = job_gres_;
  const std::vector<std::uint32_t> even = request_->exclusive ? dealt_out() : std::vector<std::uint32_t>();
  auto nodes_after = static_cast<std::uint32_t>(chosen_.size());
  for (const Capacity& node : chosen_) {
    --nodes_after;  // each of which must get at least one
    std::uint32_t tasks = tasks_on_each_;
    if (tasks == 0)
      tasks = even.empty() ? std::min(node.tasks, tasks_left - nodes_after) : even[result.nodes.size()];
    const std::uint32_t gres = job_gres_ == 0 ? 0 : std::min(node.job_gres, gres_left - nodes_after);
    if (tasks_on_each_ == 0) tasks_left -= tasks;
    gres_left -= gres;
    result.nodes.push_back(share(node, tasks, gres));
  }
  MINKE_CHECK(tasks_left == 0 && gres_left == 0);
  for (const LicenseDemand& demand : request_->licenses) {
    if (request_->any_license && !machine_.has_license(demand, request_->reservation, from_, end_)) continue;
    result.licenses.push_back({demand.license, demand.count});
    if (request_->any_license) break;
  }
  return result;
}

std::optional<Placement> place_together(const Machine& machine, const Request& request, const Caps* caps,
                                        std::int64_t from, std::int64_t end, std::uint32_t* resume) {
  if (!machine.has_licenses(request, from, end)) return std::nullopt;
  Placer placer(machine, View::kFree, caps, from, end);
  if (!placer.select(request, resume != nullptr && request.cases.empty() ? *resume : 0)) return std::nullopt;
  if (resume != nullptr && request.companions.empty()) *resume = placer.resume_rank();
  Placement all = placer.placement();
  if (request.companions.empty()) return all;
  // One after the other on copies, each seeing what those before it took.
  Machine left = machine;
  std::optional<Caps> caps_left;
  if (caps != nullptr) caps_left = *caps;
  const auto take = [&](const Placement& placement) {
    left.allocate(placement);
    if (caps_left) caps_left->consume(placement, from, end);
  };
  take(all);
  all.parts.push_back(
      {static_cast<std::uint32_t>(all.nodes.size()), static_cast<std::uint32_t>(all.licenses.size())});
  for (const Request& companion : request.companions) {
    if (!left.schedulable(companion.partition)) return std::nullopt;
    // Nodes of its own, as Slurm's components have them; another's where there are no others.
    Request apart = companion;
    for (const NodeShare& share : all.nodes) apart.excluded.push_back(share.node);
    std::sort(apart.excluded.begin(), apart.excluded.end());
    apart.excluded.erase(std::unique(apart.excluded.begin(), apart.excluded.end()), apart.excluded.end());
    const Caps* const caps_now = caps_left ? &*caps_left : nullptr;
    auto next = place_together(left, apart, caps_now, from, end);
    if (!next) next = place_together(left, companion, caps_now, from, end);
    if (!next) return std::nullopt;
    take(*next);
    all.parts.push_back(
        {static_cast<std::uint32_t>(next->nodes.size()), static_cast<std::uint32_t>(next->licenses.size())});
    all.nodes.insert(all.nodes.end(), next->nodes.begin(), next->nodes.end());
    all.licenses.insert(all.licenses.end(), next->licenses.begin(), next->licenses.end());
  }
  return all;
}

NodeShare Placer::share(const Capacity& chosen, std::uint32_t tasks, std::uint32_t job_gres) const {
  NodeShare result;
  result.node = layout_.node_at_rank(chosen.rank);
  result.rules = request_->rules;
  const LayoutNode& node = layout_.nodes()[result.node];
  const NodeNeed need = need_of(layout_, *request_, node, tasks, job_gres);
  result.cpus = request_->exclusive ? node.cpus : static_cast<std::uint32_t>(need.cpus);
  result.memory_mib = need.memory_mib;
  result.tasks = tasks;
  if (node.pool_count == 0) return result;
  if (request_->exclusive) {
    for (std::uint32_t p = 0; p < node.pool_count; ++p) {
      const GresPool& pool = layout_.pools()[node.first_pool + p];
      if (layout_.is_shard(pool.name) || pool.is_explicit) continue;
      // Jobs that are suspended lend their CPUs, and keep their devices.
      const bool now = view_ == View::kFree;
      const DeviceSet devices =
          now ? pool.devices & machine_.free_devices(node.first_pool + p) : pool.devices;
      std::uint32_t units = pool.is_only_counted() ? pool.units : 0;
      if (now && units > 0)
        units = static_cast<std::uint32_t>(machine_.free_device_count(node.first_pool + p));
      if (devices.any() || units > 0) result.gres.push_back({pool.kind, devices, units});
    }
  }
  if (!request_->gres.empty()) pick_devices(result.node, tasks, job_gres, result);
  std::sort(result.gres.begin(), result.gres.end(),
            [](const GresShare& a, const GresShare& b) { return a.kind < b.kind; });
  return result;
}

void Placer::pick_devices(NodeId id, std::uint32_t tasks, std::uint32_t job_gres, NodeShare& result) const {
  const LayoutNode& node = layout_.nodes()[id];
  NodeSupply supply;
  MINKE_CHECK(load(id, *request_, supply));
  std::array<std::int32_t, MachineLayout::kMaxPoolsPerNode> taken{};
  for (const GresDemand& demand : request_->gres) {
    auto wanted = static_cast<std::int32_t>(demanded(demand, tasks, job_gres));
    for (std::uint32_t p = 0; p < node.pool_count && wanted > 0; ++p) {
      const GresPool& pool = layout_.pools()[node.first_pool + p];
      if (demand.kind == kAnyKind ? pool.name != demand.name : pool.kind != demand.kind) continue;
      const std::int32_t now = std::min(wanted, supply.counts[p] - taken[p]);
      if (now <= 0) continue;
      taken[p] += now;
      wanted -= now;
    }
    MINKE_CHECK(wanted == 0);
  }
  for (std::uint32_t p = 0; p < node.pool_count; ++p) {
    const GresPool& pool = layout_.pools()[node.first_pool + p];
    if (taken[p] == 0 || (request_->exclusive && !pool.is_explicit)) continue;
    if (pool.is_only_counted()) {
      result.gres.push_back({pool.kind, {}, static_cast<std::uint32_t>(taken[p])});
      continue;
    }
    DeviceSet free = machine_.free_devices(node.first_pool + p);
    if (layout_.is_shard(pool.name)) free = least_on_a_gpu(free, node.shards_per_gpu, taken[p]).shards;
    result.gres.push_back({pool.kind, lowest_devices(free, static_cast<std::size_t>(taken[p]))});
  }
}

}  // namespace minke::sched
