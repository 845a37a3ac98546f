// The order of the nodes' growth, compared with a plain list.
#include "sched/growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

TEST(Growth, NodesAreInTheOrderOfTheirLastGrowth) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    testing::Random random(seed);
    const std::uint32_t nodes = random.between(1, 12);
    Growth growth(nodes);
    std::vector<NodeId> order;  // the latest first; only those that have grown
    std::map<NodeId, std::uint64_t> at;
    for (int step = 0; step < 200; ++step) {
      const std::uint64_t before = growth.now();
      if (random.one_in(10)) {
        growth.of_all();
        ASSERT_EQ(growth.all_at(), growth.now());
      } else {
        growth.count();
        for (std::uint32_t i = random.between(1, 3); i > 0; --i) {
          const NodeId node = random.up_to(nodes - 1);
          growth.of_node(node);
          std::erase(order, node);
          order.insert(order.begin(), node);
          at[node] = growth.now();
        }
      }
      ASSERT_GT(growth.now(), before);
      std::vector<NodeId> seen;
      for (NodeId node = growth.newest(); node != growth.end(); node = growth.older(node)) {
        seen.push_back(node);
        ASSERT_EQ(growth.at(node), at[node]);  // 0 where it never grew
      }
      ASSERT_EQ(seen.size(), nodes);
      ASSERT_TRUE(std::equal(order.begin(), order.end(), seen.begin()));
    }
  }
}

}  // namespace
}  // namespace minke::sched
