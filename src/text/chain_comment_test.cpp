#include "text/chain_comment.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(ChainComment, StandsBeforeWhatTheUserWrote) {
  EXPECT_EQ(with_chain_part("", 1, 3), "part 1 of 3");
  EXPECT_EQ(with_chain_part("mine", 1, 3), "part 1 of 3; mine");
  EXPECT_EQ(with_chain_part("part 1 of 3; mine", 2, 4), "part 2 of 4; mine");
  EXPECT_EQ(with_chain_part("part 1 of 3 minke:ab12", 2, 3), "part 2 of 3 minke:ab12");
  EXPECT_EQ(with_chain_part("part 1 of 3", 4294967295u, 4294967295u), "part 4294967295 of 4294967295");
}

TEST(ChainComment, IsReadBack) {
  EXPECT_EQ(chain_part_in("part 2 of 3; mine"), "part 2 of 3");
  EXPECT_EQ(chain_part_in(with_chain_part("x", 12, 120)), "part 12 of 120");
  for (const char* other :
       {"", "part", "part 2 of", "part two of 3", "part 2 of 3rds", "a part 2 of 3", "part 12345678901 of 2"})
    EXPECT_EQ(chain_part_in(other), "") << other;
}

}  // namespace
}  // namespace minke::text
