#include "storage/group_check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/testing.h"

namespace minke::storage {
namespace {

TEST(GroupCheck, finds_and_mends_what_does_not_hand_down_its_group) {
  const TempTree tree;
  tree.write("a/b/file", "x");
  ::chmod((tree / "").c_str(), 02770);
  ::chmod((tree / "a").c_str(), 0750);
  ::chmod((tree / "a/b").c_str(), 02750);
  GroupFindings found;
  ASSERT_TRUE(check_groups(tree.path(), ::getegid(), false, found));
  EXPECT_EQ(found.not_handed_down, 1u);
  EXPECT_EQ(found.other_group, 0u);
  EXPECT_EQ(found.mended, 0u);
  EXPECT_EQ(found.examples, (std::vector<std::string>{tree / "a"}));
  ASSERT_TRUE(check_groups(tree.path(), ::getegid(), true, found));
  EXPECT_EQ(found.mended, 1u);
  struct stat status {};
  ::stat((tree / "a").c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777, 02750u);
}

TEST(GroupCheck, gives_files_of_another_group_the_projects) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has several groups to give for sure";
  constexpr gid_t kProject = 54321;
  const TempTree tree;
  tree.write("a/file", "x");
  tree.write("a/linked", "x");
  ASSERT_EQ(::link((tree / "a/linked").c_str(), (tree / "a/again").c_str()), 0);
  GroupFindings found;
  ASSERT_TRUE(check_groups(tree.path(), kProject, true, found));
  EXPECT_EQ(found.other_group, 5u);
  EXPECT_EQ(found.failures.count(), 0u);
  struct stat status {};
  ::stat((tree / "a/file").c_str(), &status);
  EXPECT_EQ(status.st_gid, kProject);
  ::stat((tree / "a/linked").c_str(), &status);
  EXPECT_EQ(status.st_gid, ::getegid());  // its second name may be elsewhere
}

}  // namespace
}  // namespace minke::storage
