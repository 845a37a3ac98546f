// Small random clusters and requests for the tests of src/sched. All randomness comes from a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "sched/machine.h"
#include "sched/request.h"

namespace minke::sched::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t up_to(std::uint32_t most) { return static_cast<std::uint32_t>(engine_() % (most + 1ull)); }
  std::uint32_t between(std::uint32_t least, std::uint32_t most) { return least + up_to(most - least); }
  bool one_in(std::uint32_t n) { return up_to(n - 1) == 0; }

 private:
  std::mt19937_64 engine_;
};

inline std::string node_name(std::uint32_t number) {
  std::string name = "n";
  name += std::to_string(number);
  return name;
}

inline model::NodeRecord make_node(const std::string& name, std::uint32_t cpus, std::uint64_t memory_mib,
                                   std::vector<model::Gres> gres = {}) {
  model::NodeRecord node;
  node.set_name(name);
  node.set_cpus(cpus);
  node.set_memory_mib(memory_mib);
  for (auto& one : gres) *node.add_gres() = one;
  return node;
}

inline model::Gres make_gres(const std::string& type, std::uint32_t count, const std::string& name = "gpu") {
  model::Gres gres;
  gres.set_name(name);
  gres.set_type(type);
  gres.set_count(count);
  return gres;
}

// Equal nodes n0, n1, … in the single partition "debug".
inline Machine uniform_machine(std::uint32_t nodes, std::uint32_t cpus, std::uint64_t memory_mib,
                               std::vector<model::Gres> gres = {}) {
  std::vector<model::NodeRecord> records;
  PartitionNodes debug{"debug", {}};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    records.push_back(make_node(node_name(i), cpus, memory_mib, gres));
    debug.nodes.push_back(records.back().name());
  }
  return Machine::build(records, std::vector{debug}).value();
}

// Up to `most_nodes` nodes with various sizes, weights, features and GPUs. Partition "all" has all of them;
// with `two_partitions`, partition "some" has some of them.
inline Machine random_machine(Random& random, std::uint32_t most_nodes, bool two_partitions = false) {
  std::vector<model::NodeRecord> records;
  PartitionNodes all{"all", {}};
  PartitionNodes some{"some", {}};
  const std::uint32_t count = random.between(1, most_nodes);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto node = make_node(node_name(i), random.between(1, 6), 100 * random.up_to(8));
    if (!random.one_in(3)) *node.add_gres() = make_gres("a", random.up_to(3));
    if (random.one_in(2)) *node.add_gres() = make_gres("b", random.up_to(2));
    if (random.one_in(2)) *node.add_gres() = make_gres("", random.up_to(2), "fpga");
    if (random.one_in(2)) node.add_features("fast");
    if (random.one_in(2)) node.add_features("big");
    node.set_weight(random.up_to(2));
    node.set_sockets(random.between(1, 2));
    all.nodes.push_back(node.name());
    if (some.nodes.empty() || random.one_in(2)) some.nodes.push_back(node.name());
    records.push_back(std::move(node));
  }
  std::vector<PartitionNodes> partitions{all};
  if (two_partitions) partitions.push_back(some);
  return Machine::build(records, partitions).value();
}

inline void draw_nodes_and_tasks(Random& random, std::uint32_t nodes, Request& request) {
  request.min_nodes = random.one_in(2) ? 1 : random.between(1, nodes);
  request.max_nodes = random.between(request.min_nodes, nodes);
  if (random.one_in(2)) request.max_nodes = request.min_nodes;
  if (random.one_in(2)) {
    request.tasks = random.between(request.min_nodes, request.min_nodes + 3);
    if (random.one_in(3)) request.tasks_per_node = random.between(1, 3);
    request.max_nodes = std::min(request.max_nodes, request.tasks);
  } else if (random.one_in(3)) {
    request.tasks_per_node = random.between(1, 2);
  }
  if (random.one_in(6)) request.tasks_per_socket = random.between(1, 2);
  request.as_many_nodes = request.max_nodes > request.min_nodes && random.one_in(3);
}

inline void draw_memory(Random& random, Request& request) {
  switch (random.up_to(5)) {
    case 0:
      request.memory = MemoryDemand::kPerNode;
      break;
    case 1:
      request.memory = MemoryDemand::kPerCpu;
      break;
    case 2:
      request.memory = MemoryDemand::kPerGpu;
      break;
    case 3:
      request.memory = random.one_in(3) ? MemoryDemand::kWholeNode : MemoryDemand::kNone;
      break;
    default:
      break;
  }
  if (request.memory != MemoryDemand::kNone && request.memory != MemoryDemand::kWholeNode)
    request.memory_mib = random.between(1, 300);
}

inline void draw_gpus(Random& random, const MachineLayout& layout, GresNameId gpu, bool may_be_job_wide,
                      Request& request) {
  if (may_be_job_wide && random.one_in(3)) {
    GresDemand demand{gpu, kAnyKind, 0, 0, random.between(request.min_nodes, request.min_nodes + 2)};
    if (random.one_in(2)) demand.kind = layout.find_gres_kind(gpu, "a").value_or(kAnyKind);
    request.gres.push_back(demand);
  } else {
    for (const char* type : {"a", "b"}) {
      const auto kind = layout.find_gres_kind(gpu, type);
      if (!kind || !random.one_in(3)) continue;
      const bool per_task = random.one_in(2);
      request.gres.push_back({gpu, *kind, per_task ? 0u : 1u, per_task ? 1u : 0u, 0});
    }
    if (request.gres.size() == 2 && request.gres[0].kind > request.gres[1].kind)
      std::swap(request.gres[0], request.gres[1]);
    if (request.gres.empty() || random.one_in(3))
      request.gres.push_back({gpu, kAnyKind, random.between(1, 2), 0, 0});
  }
  if (random.one_in(4)) request.cpus_per_gpu = random.between(1, 3);
}

// Any request that make_request() could return. With `exact_only` it never has tasks, job-wide GRES and a
// bound on nodes together: for those the Placer may miss a placement.
inline Request random_request(Random& random, const Machine& machine, bool exact_only = true) {
  const MachineLayout& layout = machine.layout();
  Request request;
  request.partition = random.up_to(static_cast<std::uint32_t>(layout.partitions().size() - 1));
  request.time_limit_minutes = random.between(1, 20);
  request.cpus_per_task = random.between(1, 3);
  if (random.one_in(4)) request.min_cpus_per_node = random.between(1, 4);
  const auto nodes = static_cast<std::uint32_t>(layout.nodes().size());
  draw_nodes_and_tasks(random, nodes, request);
  draw_memory(random, request);
  const auto gpu = layout.gpu_name();
  if (gpu && random.one_in(2)) draw_gpus(random, layout, *gpu, !(exact_only && request.tasks > 0), request);
  for (const char* name : {"fast", "big"}) {
    const auto feature = layout.find_feature(name);
    if (feature && random.one_in(6)) request.any_of.push_back({*feature});
  }
  if (random.one_in(8)) request.excluded = {random.up_to(nodes - 1)};
  if (random.one_in(8)) {
    request.required = {random.up_to(nodes - 1)};
    if (request.required == request.excluded) request.excluded.clear();
  }
  request.exclusive = random.one_in(10);
  return request;
}

}  // namespace minke::sched::testing
