// GRES beside GPUs and shards.
#include <gtest/gtest.h>

#include <vector>

#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

using testing::make_gres;

Request ask(const Machine& machine, const std::string& name, std::uint32_t count) {
  Request request;
  request.gres.push_back({*machine.layout().find_gres_name(name), kAnyKind, count, 0, 0});
  return request;
}

TEST(Gres, AreGivenOutByNameAndType) {
  Machine machine = testing::uniform_machine(1, 8, 0, {make_gres("", 3, "nic"), make_gres("a", 1, "fpga")});
  EXPECT_FALSE(machine.could_ever(ask(machine, "nic", 4)));
  const Placement two = *machine.place(ask(machine, "nic", 2));
  machine.allocate(two);
  EXPECT_FALSE(machine.place(ask(machine, "nic", 2)));
  const Placement one = *machine.place(ask(machine, "fpga", 1));
  machine.allocate(one);
  EXPECT_FALSE(machine.place(ask(machine, "fpga", 1)));
  EXPECT_EQ(to_model(machine.layout(), one)[0].gres(0).type(), "a");
  machine.release(two);
  EXPECT_TRUE(machine.place(ask(machine, "nic", 3)));
}

TEST(Gres, WhatIsNotConsumedIsThereForEveryJob) {
  Machine machine = testing::uniform_machine(1, 8, 0, {make_gres("no_consume", 2, "nic")});
  const Machine idle = machine;
  EXPECT_FALSE(machine.could_ever(ask(machine, "nic", 3)));
  std::vector<Placement> running;
  for (int i = 0; i < 3; ++i) {
    running.push_back(*machine.place(ask(machine, "nic", 2)));
    machine.allocate(running.back());
  }
  const auto stored = to_model(machine.layout(), running[2]);
  EXPECT_EQ(stored[0].gres(0).type(), "");
  EXPECT_EQ(stored[0].gres(0).indices_size(), 2);
  EXPECT_EQ(*from_model(machine.layout(), stored), running[2]);
  for (const Placement& placement : running) machine.release(placement);
  EXPECT_TRUE(machine.place(ask(machine, "nic", 2)));
  EXPECT_EQ(machine.free_cpus(0), idle.free_cpus(0));
}

TEST(Gres, MoreUnitsThanASetHasAreOnlyCounted) {
  Machine machine = testing::uniform_machine(
      1, 8, 0, {make_gres("", 10240, "io"), make_gres("a", 2, "nic"), make_gres("", 1, "gpu")});
  const Machine idle = machine;
  EXPECT_FALSE(machine.could_ever(ask(machine, "io", 10241)));
  const Placement most = *machine.place(ask(machine, "io", 10000));
  machine.allocate(most);
  EXPECT_FALSE(machine.place(ask(machine, "io", 241)));
  const auto stored = to_model(machine.layout(), most);
  EXPECT_EQ(stored[0].gres(0).count(), 10000u);
  EXPECT_EQ(stored[0].gres(0).indices_size(), 0);
  EXPECT_EQ(*from_model(machine.layout(), stored), most);
  const Placement rest = *machine.place(ask(machine, "io", 240));
  machine.allocate(rest);
  EXPECT_FALSE(same_amounts(most, rest));
  EXPECT_FALSE(machine.place(ask(machine, "io", 1)));
  EXPECT_TRUE(machine.place(ask(machine, "nic", 2)));
  // What runs already may exceed what is there, as where the node has fewer now.
  machine.adopt(rest);
  machine.release(rest);
  machine.release(rest);
  machine.release(most);
  EXPECT_TRUE(machine == idle);
}

TEST(Gres, WhoHasTheWholeNodeHasExplicitOnesOnRequestOnly) {
  model::NodeRecord node = testing::make_node(
      "n0", 4, 0, {make_gres("", 2, "gpu"), make_gres("", 2, "nic"), make_gres("", 5000, "io")});
  node.add_explicit_gres("nic");
  const Machine machine =
      Machine::build(std::vector{node}, std::vector{PartitionNodes{"debug", {"n0"}}}).value();
  const auto names = [&](Request request) {
    request.exclusive = true;
    std::string text;
    const NodeAllocations held = to_model(machine.layout(), *machine.place(request));
    for (const auto& gres : held[0].gres())
      text += gres.name() + ":" + std::to_string(gres.indices_size() + static_cast<int>(gres.count())) + " ";
    return text;
  };
  EXPECT_EQ(names(ask(machine, "nic", 1)), "gpu:2 nic:1 io:5000 ");
  EXPECT_EQ(names(ask(machine, "gpu", 1)), "gpu:2 io:5000 ");
}

}  // namespace
}  // namespace minke::sched
