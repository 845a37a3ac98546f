#include "os/subordinate_ids.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace minke::os {
namespace {

TEST(SubordinateIds, AreThoseOfTheFile) {
  const std::string path = testing::TempDir() + "subuid." + std::to_string(::getpid());
  std::ofstream(path) << "# a comment\nada:100000:65536\nbob:x:1\n:::\ncarl:4294967290:100\n1001:300000:1";
  EXPECT_FALSE(is_subordinate(0, path) || is_subordinate(99999, path) || is_subordinate(165536, path));
  EXPECT_TRUE(is_subordinate(100000, path) && is_subordinate(165535, path));
  EXPECT_TRUE(is_subordinate(300000, path) && is_subordinate(4294967294, path));
  EXPECT_FALSE(is_subordinate(300001, path));
  std::remove(path.c_str());
  EXPECT_FALSE(is_subordinate(100000, path));
}

}  // namespace
}  // namespace minke::os
