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

TEST(ChainComment, PartsAreThoseThatRunUntilTheirEnd) {
  EXPECT_EQ(chain_parts(72 * 3600, 24 * 3600, 300), 3u);
  EXPECT_EQ(chain_parts(72 * 3600 + 301, 24 * 3600, 300), 4u);
  EXPECT_EQ(chain_parts(72 * 3600 + 300, 24 * 3600, 300), 3u);  // what the warning leaves is no part
  for (const int64_t none : {0, -5}) EXPECT_EQ(chain_parts(none, 60, 0), 1u);
  EXPECT_EQ(chain_parts(60, 0, 0), 1u);
}

}  // namespace
}  // namespace minke::text
