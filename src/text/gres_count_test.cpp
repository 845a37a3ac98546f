#include "text/gres_count.h"

#include <gtest/gtest.h>

#include <vector>

namespace minke::text {
namespace {

TEST(GresCount, WholeGpusOfWhatIsAskedForAndOfWhatIsHeld) {
  std::vector<model::Gres> asked(4);
  asked[0].set_name("gpu");
  asked[0].set_type("a100");
  asked[0].set_count(2);
  asked[1].set_count(3);  // without a name: GPUs
  asked[2].set_name("shard");
  asked[2].set_count(4);
  asked[3].set_name("gpu");
  EXPECT_EQ(gpus_in(asked), 5u);
  model::NodeAllocation node;
  for (const char* name : {"gpu", "nic", "gpu"}) {
    model::GresAllocation& held = *node.add_gres();
    held.set_name(name);
    held.add_indices(0);
    held.add_indices(3);
  }
  EXPECT_EQ(gpus_in(node.gres()), 4u);
  EXPECT_EQ(units_of(node.gres(1)), 2u);
  EXPECT_EQ(gpus_in(std::vector<model::Gres>()), 0u);
}

}  // namespace
}  // namespace minke::text
