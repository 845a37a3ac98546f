#include "sched/layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/cluster.pb.h"
#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

using testing::Random;

TEST(MachineLayout, NamesWhatIsWrong) {
  const auto build = [](std::vector<model::NodeRecord> nodes, std::vector<std::string> members) {
    return MachineLayout::build(nodes, std::vector{PartitionNodes{"p", std::move(members)}});
  };
  EXPECT_EQ(build({testing::make_node("n", 0, 0)}, {}).error().message, "node n has no CPUs");
  EXPECT_EQ(build({testing::make_node("n", 1, 0), testing::make_node("n", 1, 0)}, {}).error().message,
            "node n is given twice");
  EXPECT_EQ(build({testing::make_node("n", 1, 0)}, {"m"}).error().message, "partition p: there is no node m");
  EXPECT_EQ(
      build({testing::make_node("n", 1, 0, {testing::make_gres("a", 508), testing::make_gres("b", 5)})}, {})
          .error()
          .message,
      "node n offers more than 512 gpu");
  EXPECT_TRUE(
      build({testing::make_node("n", 1, 0, {testing::make_gres("a", 508), testing::make_gres("b", 4)})}, {}));
}

TEST(Placement, SurvivesTheModelAndLosesWhatIsGone) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const Machine machine = testing::random_machine(random, 5);
    const auto placement = machine.place(testing::random_request(random, machine, false));
    if (!placement) continue;
    EXPECT_EQ(from_model(machine.layout(), to_model(machine.layout(), *placement)).value(), *placement);
  }
  const Machine before = testing::uniform_machine(1, 2, 0, {testing::make_gres("a", 2)});
  const Machine after = testing::uniform_machine(1, 2, 0, {testing::make_gres("a", 1)});
  const auto stored = to_model(before.layout(), Placement{{{0, 1, 0, 1, {{0, 0b11}}}}});
  EXPECT_EQ(from_model(after.layout(), stored).value(), (Placement{{{0, 1, 0, 1, {{0, 0b01}}}}}));
  auto elsewhere = stored;
  elsewhere[0].set_node("gone");
  EXPECT_FALSE(from_model(after.layout(), elsewhere));
}

}  // namespace
}  // namespace minke::sched
