#include "storage/purge.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "os/fd.h"
#include "storage/testing.h"

namespace minke::storage {
namespace {

// Times of change cannot be set: the limit is moved instead.
TEST(Purge, removes_what_is_old_within_the_tree) {
  const TempTree tree, outside;
  tree.write("d/a", "x");
  tree.write("d/b\n", "x");
  outside.write("kept", "x");
  std::filesystem::create_directory_symlink(outside.path(), tree / "link");
  PurgeResult none, found, removed;
  ASSERT_TRUE(purge_tree(tree.path(), {.before = std::time(nullptr) - 60, .remove = true}, none));
  EXPECT_EQ(none.files, 0u);
  const int64_t later = std::time(nullptr) + 60;
  ASSERT_TRUE(purge_tree(tree.path(), {.before = later}, found));
  EXPECT_EQ(found.files, 3u);
  EXPECT_EQ(tree.read("d/a"), "x");
  const os::UniqueFd record(::open((outside / "record").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600));
  ASSERT_TRUE(purge_tree(tree.path(), {.before = later, .remove = true, .record = record.get()}, removed));
  EXPECT_EQ(removed.files, 3u);
  EXPECT_TRUE(std::filesystem::is_empty(tree / "d"));
  EXPECT_TRUE(std::filesystem::exists(outside / "kept"));
  EXPECT_NE(outside.read("record").find("/d/b\\n\n"), std::string::npos);
}

TEST(Purge, a_file_that_was_just_read_stays) {
  const TempTree tree;
  tree.write("used", "x");
  const timespec times[2] = {{std::time(nullptr) + 1000, 0},
                             {1, 0}};  // its time of access is the younger one
  ASSERT_EQ(::utimensat(AT_FDCWD, (tree / "used").c_str(), times, 0), 0);
  PurgeResult result;
  ASSERT_TRUE(purge_tree(tree.path(), {.before = std::time(nullptr) + 60, .remove = true}, result));
  EXPECT_EQ(result.files, 0u);
  EXPECT_EQ(tree.read("used"), "x");
}

TEST(Purge, space_of_a_file_with_two_names_counts_once) {
  const TempTree tree;
  tree.write("d/a", std::string(1 << 20, 'x'));
  PurgeResult one, two;
  const int64_t later = std::time(nullptr) + 60;
  ASSERT_TRUE(purge_tree(tree.path(), {.before = later}, one));
  std::filesystem::create_hard_link(tree / "d/a", tree / "b");
  ASSERT_TRUE(purge_tree(tree.path(), {.before = later}, two));
  EXPECT_EQ(two.files, 2u);
  EXPECT_GE(one.space, 1u << 20);
  EXPECT_EQ(two.space, one.space);
}

TEST(Purge, nothing_is_removed_that_cannot_be_recorded) {
  const TempTree tree;
  for (int i = 0; i < 50; ++i) tree.write(std::to_string(i), "x");
  const os::UniqueFd full(::open("/dev/full", O_WRONLY));
  PurgeResult result;
  EXPECT_EQ(purge_tree(tree.path(), {.before = std::time(nullptr) + 60, .remove = true, .record = full.get()},
                       result)
                .error()
                .code,
            ENOSPC);
  EXPECT_EQ(result.files, 0u);
}

TEST(Purge, a_directory_that_is_swapped_for_a_link_leads_nowhere) {
  const TempTree tree, outside;
  outside.write("kept", "x");
  outside.write("below/kept", "x");
  tree.write("top/d/below/kept", "x");
  const std::string way = tree / "top/d", aside = tree / "aside";
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  std::thread swapper([&] {
    std::error_code failed;
    while (!stop) {
      std::filesystem::rename(way, aside, failed);
      std::filesystem::create_directory_symlink(outside.path(), way, failed);
      std::filesystem::remove(way, failed);  // unless it has just been removed
      std::filesystem::rename(aside, way, failed);
      ++rounds;
    }
  });
  const int64_t later = std::time(nullptr) + 60;
  for (int i = 0; i < 200 || rounds < 200; ++i) {
    PurgeResult result;
    (void)purge_tree(tree / "top", {.before = later, .remove = true, .tables = false}, result);
  }
  stop = true;
  swapper.join();
  EXPECT_EQ(outside.read("kept"), "x");
  EXPECT_EQ(outside.read("below/kept"), "x");
}

}  // namespace
}  // namespace minke::storage
