#include "sched/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>

#include "model/cluster.pb.h"
#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

using testing::Random;

// What a node could give, counted in the plainest way.
struct Supply {
  std::int64_t cpus = 0;
  std::int64_t memory = 0;
  std::map<GresKindId, int> devices;
};

Supply supply_of(const Machine& machine, NodeId node) {
  Supply supply{machine.free_cpus(node), machine.free_memory_mib(node), {}};
  const LayoutNode& known = machine.layout().nodes()[node];
  for (std::uint32_t p = known.first_pool; p < known.first_pool + known.pool_count; ++p) {
    supply.devices[machine.layout().pools()[p].kind] += count_of(machine.free_devices(p));
  }
  return supply;
}

struct Need {
  std::uint64_t cpus = 0;
  std::uint64_t memory = 0;
};

Need need_of(const Machine& machine, const Request& request, NodeId node, std::uint32_t tasks,
             std::uint32_t job_gres) {
  std::uint64_t gpus = 0;
  for (const auto& demand : request.gres) {
    if (machine.layout().gres_name(demand.name) != "gpu") continue;
    gpus += demand.per_node + demand.per_task * tasks + (demand.per_job > 0 ? job_gres : 0);
  }
  Need need;
  need.cpus = std::max<std::uint64_t>(
      {std::uint64_t{tasks} * request.cpus_per_task, request.min_cpus_per_node, gpus * request.cpus_per_gpu});
  if (request.memory == MemoryDemand::kPerNode) need.memory = request.memory_mib;
  if (request.memory == MemoryDemand::kPerCpu) need.memory = request.memory_mib * need.cpus;
  if (request.memory == MemoryDemand::kPerCpu && request.exclusive) {
    const LayoutNode& known = machine.layout().nodes()[node];
    need.memory = std::max(need.memory, std::min(request.memory_mib * known.cpus, known.memory_mib));
  }
  if (request.memory == MemoryDemand::kPerGpu) need.memory = request.memory_mib * gpus;
  if (request.memory == MemoryDemand::kPerGpu && request.exclusive) {
    const LayoutNode& known = machine.layout().nodes()[node];
    std::uint64_t all = 0;
    for (const GresPool& pool : machine.layout().pools_of(node)) {
      if (machine.layout().gres_name(pool.name) == "gpu") all += pool.devices.count();
    }
    need.memory = std::max(need.memory, std::min(request.memory_mib * all, known.memory_mib));
  }
  if (request.memory == MemoryDemand::kWholeNode) need.memory = machine.layout().nodes()[node].memory_mib;
  return need;
}

bool node_hosts(const Machine& machine, const Request& request, NodeId node, std::uint32_t tasks,
                std::uint32_t job_gres) {
  const LayoutNode& known = machine.layout().nodes()[node];
  Supply supply = supply_of(machine, node);
  if (!machine.available(node) || supply.cpus <= 0) return false;
  if (request.exclusive && supply.cpus != known.cpus) return false;
  if (request.tasks_per_node > 0 && tasks > request.tasks_per_node) return false;
  if (request.tasks_per_socket > 0 && tasks > request.tasks_per_socket * known.sockets) return false;
  const Need need = need_of(machine, request, node, tasks, job_gres);
  if (static_cast<std::int64_t>(need.cpus) > supply.cpus) return false;
  if (static_cast<std::int64_t>(need.memory) > supply.memory) return false;
  // Typed demands first; the others take what is left of the name.
  for (const bool typed : {true, false}) {
    for (const auto& demand : request.gres) {
      if ((demand.kind != kAnyKind) != typed) continue;
      int wanted =
          static_cast<int>(demand.per_node + demand.per_task * tasks + (demand.per_job > 0 ? job_gres : 0));
      for (auto& [kind, count] : supply.devices) {
        if (typed ? kind != demand.kind : machine.layout().gres_kinds()[kind].name != demand.name) continue;
        const int taken = std::min(wanted, count);
        count -= taken;
        wanted -= taken;
      }
      if (wanted > 0) return false;
    }
  }
  return true;
}

bool eligible(const Machine& machine, const Request& request, NodeId node) {
  const LayoutNode& known = machine.layout().nodes()[node];
  if (!machine.layout().partitions()[request.partition].members.test(known.rank)) return false;
  if (std::count(request.excluded.begin(), request.excluded.end(), node) > 0) return false;
  if (request.any_of.empty()) return true;
  return std::any_of(request.any_of.begin(), request.any_of.end(), [&](const auto& all_of) {
    return std::all_of(all_of.begin(), all_of.end(), [&](FeatureId feature) {
      return machine.layout().nodes_with_feature(feature).test(known.rank);
    });
  });
}

std::uint32_t job_wide(const Request& request) {
  for (const auto& demand : request.gres) {
    if (demand.per_job > 0) return demand.per_job;
  }
  return 0;
}

// Whether some distribution of tasks and job-wide GRES over exactly these nodes works.
bool set_hosts(const Machine& machine, const Request& request, const std::vector<NodeId>& nodes,
               std::size_t index, std::uint32_t tasks_left, std::uint32_t gres_left) {
  const std::uint32_t gres = job_wide(request);
  if (index == nodes.size()) return (request.tasks == 0 || tasks_left == 0) && gres_left == 0;
  const std::uint32_t each = std::max(1u, request.tasks_per_node);
  for (std::uint32_t t = request.tasks == 0 ? each : 1; t <= (request.tasks == 0 ? each : tasks_left); ++t) {
    for (std::uint32_t g = gres == 0 ? 0 : 1; g <= gres_left; ++g) {
      if (!node_hosts(machine, request, nodes[index], t, g)) continue;
      if (set_hosts(machine, request, nodes, index + 1, request.tasks == 0 ? 0 : tasks_left - t,
                    gres_left - g)) {
        return true;
      }
    }
  }
  return false;
}

// The sizes of sets of nodes that could host the request.
std::vector<bool> possible_sizes(const Machine& machine, const Request& request) {
  const auto count = static_cast<std::uint32_t>(machine.layout().nodes().size());
  std::vector<bool> sizes(count + 1);
  for (std::uint32_t set = 1; set < (1u << count); ++set) {
    const auto size = static_cast<std::uint32_t>(std::popcount(set));
    if (size < request.min_nodes || size > request.max_nodes || sizes[size]) continue;
    std::vector<NodeId> nodes;
    for (NodeId node = 0; node < count; ++node) {
      if ((set >> node) & 1 && eligible(machine, request, node)) nodes.push_back(node);
    }
    if (nodes.size() != size) continue;
    const bool has_required = std::all_of(request.required.begin(), request.required.end(),
                                          [&](NodeId node) { return (set >> node) & 1; });
    sizes[size] = has_required && set_hosts(machine, request, nodes, 0, request.tasks, job_wide(request));
  }
  return sizes;
}

void expect_valid(const Machine& machine, const Request& request, const Placement& placement) {
  std::uint32_t tasks = 0;
  std::vector<NodeId> nodes;
  for (const NodeShare& share : placement.nodes) {
    nodes.push_back(share.node);
    EXPECT_TRUE(eligible(machine, request, share.node));
    EXPECT_GE(share.tasks, 1u);
    tasks += share.tasks;
    std::uint64_t gpus = 0;
    for (const GresShare& gres : share.gres) {
      const auto name = machine.layout().gres_kinds()[gres.kind].name;
      if (machine.layout().gres_name(name) == "gpu") gpus += gres.devices.count();
    }
    std::uint64_t demanded = 0;
    for (const auto& demand : request.gres) demanded += demand.per_node + demand.per_task * share.tasks;
    if (job_wide(request) == 0 && !request.exclusive) {
      EXPECT_EQ(gpus, demanded);
      const Need need = need_of(machine, request, share.node, share.tasks, 0);
      EXPECT_EQ(share.cpus, need.cpus);
      EXPECT_EQ(share.memory_mib, need.memory);
    }
    EXPECT_TRUE(!request.exclusive || share.cpus == machine.layout().nodes()[share.node].cpus);
    EXPECT_TRUE(request.tasks_per_node == 0 || share.tasks <= request.tasks_per_node);
  }
  EXPECT_EQ(tasks, request.tasks > 0 ? request.tasks : nodes.size() * std::max(1u, request.tasks_per_node));
  EXPECT_GE(nodes.size(), request.min_nodes);
  EXPECT_LE(nodes.size(), request.max_nodes);
  for (const NodeId node : request.required) EXPECT_EQ(std::count(nodes.begin(), nodes.end(), node), 1);
  const auto rank = [&](NodeId node) { return machine.layout().nodes()[node].rank; };
  for (std::size_t i = 1; i < nodes.size(); ++i) EXPECT_LT(rank(nodes[i - 1]), rank(nodes[i]));
}

TEST(Machine, PlacesExactlyWhereBruteForceFindsAPlace) {
  int placed = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Machine machine = testing::random_machine(random, 4, true);
    for (int job = 0; job < 6; ++job) {
      const Request request = testing::random_request(random, machine);
      const std::vector<bool> sizes = possible_sizes(machine, request);
      const auto placement = machine.place(request);
      const auto smallest = std::find(sizes.begin(), sizes.end(), true);
      ASSERT_EQ(placement.has_value(), smallest != sizes.end());
      if (!placement) {
        ++refused;
        continue;
      }
      ++placed;
      expect_valid(machine, request, *placement);
      if (request.as_many_nodes) {
        const auto largest = std::find(sizes.rbegin(), sizes.rend(), true);
        EXPECT_EQ(placement->nodes.size(), static_cast<std::size_t>(sizes.rend() - largest) - 1);
      } else {
        EXPECT_EQ(placement->nodes.size(), static_cast<std::size_t>(smallest - sizes.begin()));
      }
      machine.allocate(*placement);
      if (testing::Random(seed * 7 + static_cast<std::uint64_t>(job)).one_in(4)) machine.release(*placement);
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(placed, 3000);
  EXPECT_GT(refused, 3000);
}

TEST(Machine, TasksAndJobWideGpusTogetherGiveValidPlaces) {
  int placed = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Machine machine = testing::random_machine(random, 4);
    Request request = testing::random_request(random, machine, false);
    const auto placement = machine.place(request);
    if (placement) expect_valid(machine, request, *placement);
    placed += placement.has_value();
    // Without an upper bound on nodes the search is exact here, too.
    request.as_many_nodes = false;
    request.max_nodes = static_cast<std::uint32_t>(machine.layout().nodes().size());
    const auto sizes = possible_sizes(machine, request);
    const bool possible = std::find(sizes.begin(), sizes.end(), true) != sizes.end();
    ASSERT_EQ(machine.place(request).has_value(), possible);
  }
  EXPECT_GT(placed, 300);
}

TEST(Machine, AllocateAndReleaseRestoreEverything) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Machine machine = testing::random_machine(random, 8);
    const Machine idle = machine;
    std::vector<Placement> held;
    std::vector<Machine> before;
    for (int i = 0; i < 20; ++i) {
      const auto placement = machine.place(testing::random_request(random, machine, false));
      if (!placement) continue;
      before.push_back(machine);
      machine.allocate(*placement);
      held.push_back(*placement);
      // Nothing is held twice: what is free and what is held make up the whole.
      for (NodeId node = 0; node < machine.layout().nodes().size(); ++node) {
        const LayoutNode& known = machine.layout().nodes()[node];
        std::int64_t cpus = machine.free_cpus(node);
        std::int64_t memory = machine.free_memory_mib(node);
        std::map<GresKindId, DeviceSet> devices;
        for (const auto& one : held) {
          for (const auto& share : one.nodes) {
            if (share.node != node) continue;
            cpus += share.cpus;
            memory += static_cast<std::int64_t>(share.memory_mib);
            for (const auto& gres : share.gres) {
              EXPECT_TRUE((devices[gres.kind] & gres.devices).none());
              devices[gres.kind] |= gres.devices;
            }
          }
        }
        EXPECT_GE(machine.free_cpus(node), 0);
        EXPECT_GE(machine.free_memory_mib(node), 0);
        EXPECT_EQ(cpus, known.cpus);
        EXPECT_EQ(memory, static_cast<std::int64_t>(known.memory_mib));
        for (std::uint32_t p = known.first_pool; p < known.first_pool + known.pool_count; ++p) {
          const GresPool& pool = machine.layout().pools()[p];
          EXPECT_TRUE((devices[pool.kind] & machine.free_devices(p)).none());
          EXPECT_EQ(devices[pool.kind] | machine.free_devices(p), pool.devices);
        }
      }
    }
    while (!held.empty()) {
      machine.release(held.back());
      ASSERT_TRUE(machine == before.back());
      held.pop_back();
      before.pop_back();
    }
    ASSERT_TRUE(machine == idle);
  }
}

TEST(Machine, CouldEverAgreesWithPlacingOnTheIdleMachine) {
  int possible = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Machine idle = testing::random_machine(random, 6, true);
    Machine busy = idle;
    for (int i = 0; i < 3; ++i) {
      if (const auto some = busy.place(testing::random_request(random, busy))) busy.allocate(*some);
    }
    busy.set_available(0, false);
    const Request request = testing::random_request(random, idle, false);
    const bool fits = idle.place(request).has_value();
    const Status verdict = busy.could_ever(request);
    ASSERT_EQ(verdict.has_value(), fits);
    possible += fits;
    if (!verdict) {
      const int code = verdict.error().code;
      EXPECT_TRUE(code == 2005 || code == 2006 || code == 2014) << code;
      EXPECT_FALSE(verdict.error().message.empty());
      EXPECT_EQ(verdict.error().message.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(possible, 500);
}

TEST(Machine, PrefersLowWeightThenOrderAndFillsInBlocks) {
  std::vector<model::NodeRecord> nodes{testing::make_node("heavy", 8, 0), testing::make_node("a", 4, 0),
                                       testing::make_node("b", 4, 0)};
  nodes[0].set_weight(10);
  const PartitionNodes all{"all", {"heavy", "a", "b"}};
  Machine machine = Machine::build(nodes, std::vector{all}).value();
  Request request;
  request.max_nodes = 3;
  request.tasks = 2;
  auto placement = machine.place(request);
  ASSERT_EQ(placement->nodes.size(), 1u);
  EXPECT_EQ(placement->nodes[0].node, 1u);  // a
  request.tasks = 7;                        // one heavy node rather than two light ones
  placement = machine.place(request);
  ASSERT_EQ(placement->nodes.size(), 1u);
  EXPECT_EQ(placement->nodes[0].node, 0u);
  request.tasks = 9;  // two nodes must include the heavy one; of the others, the first
  placement = machine.place(request);
  ASSERT_EQ(placement->nodes.size(), 2u);
  EXPECT_EQ(placement->nodes[0].node, 1u);
  EXPECT_EQ(placement->nodes[0].tasks, 4u);
  EXPECT_EQ(placement->nodes[1].node, 0u);
  EXPECT_EQ(placement->nodes[1].tasks, 5u);
}

TEST(Machine, APartitionMayLimitTheCpusOfItsJobsOnANode) {
  Machine machine = testing::uniform_machine(2, 4, 0);
  const Machine idle = machine;
  Request request;
  request.tasks = 1;
  request.cpus_per_task = 2;
  request.rules.cpu_group = 1;
  request.rules.group_cpus = 3;
  const auto first = machine.place(request);
  ASSERT_TRUE(first);
  machine.allocate(*first);
  const auto second = machine.place(request);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->nodes[0].node, 1u);
  machine.allocate(*second);
  EXPECT_FALSE(machine.place(request));
  request.cpus_per_task = 1;
  EXPECT_TRUE(machine.place(request));
  Request other = request;
  other.rules = {};
  other.cpus_per_task = 2;
  EXPECT_TRUE(machine.place(other));
  request.cpus_per_task = 4;
  EXPECT_FALSE(machine.could_ever(request));
  machine.release(*first);
  machine.release(*second);
  EXPECT_EQ(machine, idle);
}

TEST(Machine, APartitionMayGiveNodesToOneUser) {
  Machine machine = testing::uniform_machine(1, 4, 0);
  const Machine idle = machine;
  Request mine;
  mine.tasks = 1;
  mine.rules.user = 1;
  mine.rules.alone = true;
  Request others = mine;
  others.rules = {.user = 2};
  const auto placed = machine.place(mine);
  ASSERT_TRUE(placed);
  machine.allocate(*placed);
  EXPECT_TRUE(machine.place(mine));
  EXPECT_FALSE(machine.place(others));
  machine.release(*placed);
  EXPECT_EQ(machine, idle);
  const auto theirs = machine.place(others);
  ASSERT_TRUE(theirs);
  machine.allocate(*theirs);
  EXPECT_FALSE(machine.place(mine));
  mine.rules.alone = false;
  EXPECT_TRUE(machine.place(mine));
}

TEST(Machine, GivesTheLowestDevicesAndTakesThemBack) {
  Machine machine =
      testing::uniform_machine(1, 8, 0, {testing::make_gres("a100", 2), testing::make_gres("h100", 2)});
  const auto gpu = machine.layout().find_gres_name("gpu").value();
  Request h100;
  h100.gres = {{gpu, machine.layout().find_gres_kind(gpu, "h100").value(), 1, 0, 0}};
  Request any;
  any.gres = {{gpu, kAnyKind, 3, 0, 0}};
  const auto first = machine.place(h100).value();
  EXPECT_EQ(first.nodes[0].gres, (std::vector<GresShare>{{1, 0b0100}}));
  machine.allocate(first);
  const auto second = machine.place(any).value();
  EXPECT_EQ(second.nodes[0].gres, (std::vector<GresShare>{{0, 0b0011}, {1, 0b1000}}));
  machine.allocate(second);
  EXPECT_FALSE(machine.place(h100));
  machine.release(first);
  EXPECT_EQ(machine.place(h100).value(), first);
}

TEST(Machine, UnavailableNodesGetNothingNewAndKeepWhatTheyHave) {
  Machine machine = testing::uniform_machine(2, 2, 0);
  Request request;
  const auto held = machine.place(request).value();
  machine.allocate(held);
  machine.set_available(0, false);
  EXPECT_EQ(machine.place(request)->nodes[0].node, 1u);
  machine.release(held);
  EXPECT_EQ(machine.place(request)->nodes[0].node, 1u);
  machine.set_available(0, true);
  EXPECT_EQ(machine.place(request)->nodes[0].node, 0u);
}

TEST(Machine, AdoptsWhatRunsOnAMachineThatHasShrunk) {
  const Placement large{{{0, 4, 4000, 1, {}}}};
  Machine machine = testing::uniform_machine(1, 2, 1000);
  const Machine idle = machine;
  machine.adopt(large);
  EXPECT_EQ(machine.free_cpus(0), -2);
  EXPECT_FALSE(machine.place(Request{}));
  machine.release(large);
  EXPECT_TRUE(machine == idle);
}

}  // namespace
}  // namespace minke::sched
