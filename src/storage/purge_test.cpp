#include "storage/purge.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "os/fd.h"
#include "storage/testing.h"

namespace minke::storage {
namespace {

// Times of change cannot be set, so the test moves the limit instead.
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

// Mounts an ext4 of its own while it lives; as root.
class Ext4 {
 public:
  Ext4() {
    std::filesystem::create_directory(place());
    const std::string image = directory_ / "image";
    mounted_ = std::system(("truncate -s 64M " + image + " && mkfs.ext4 -q " + image + " && mount -o loop " +
                            image + " " + place() + " 2>/dev/null")
                               .c_str()) == 0;
  }
  ~Ext4() {
    if (mounted_) EXPECT_EQ(std::system(("umount -l " + place()).c_str()), 0);
  }
  bool mounted() const { return mounted_; }
  std::string place() const { return directory_ / "place"; }
  void write(const std::string& name, const std::string& text) const {
    directory_.write("place/" + name, text);
  }

 private:
  TempTree directory_;
  bool mounted_ = false;
};

std::multiset<std::string> listed(const std::string& root, PurgeOptions options) {
  const TempTree work;
  const os::UniqueFd record(::open((work / "record").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600));
  options.before = std::time(nullptr) + 60;
  options.record = record.get();
  PurgeResult result;
  EXPECT_TRUE(purge_tree(root, options, result));
  std::istringstream text(work.read("record"));
  std::multiset<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.insert(line);
  EXPECT_EQ(lines.size(), result.files);
  return lines;
}

TEST(Purge, lists_are_the_same_within_any_limits_of_memory) {
  const Ext4 disk;
  if (!disk.mounted()) GTEST_SKIP() << "nothing can be mounted here";
  for (int i = 0; i < 400; ++i)
    disk.write("d" + std::to_string(i % 20) + "/e" + std::to_string(i % 3) + "/" + std::to_string(i),
               std::string(static_cast<size_t>(i), 'x'));
  const auto walked = listed(disk.place(), {.tables = false});
  EXPECT_EQ(walked.size(), 400u);
  EXPECT_EQ(listed(disk.place(), {}), walked);
  for (const TableLimits limits :
       {TableLimits{.files = 0}, TableLimits{.files = 150}, TableLimits{.directories = 5}})
    EXPECT_EQ(listed(disk.place(), {.limits = limits}), walked) << limits.files;
}

TEST(Purge, tables_with_too_many_directories_are_left_alone) {
  const Ext4 disk;
  if (!disk.mounted()) GTEST_SKIP() << "nothing can be mounted here";
  for (int i = 0; i < 100; ++i) disk.write(std::to_string(i) + "/file", "x");
  for (const size_t most : {5, 101, 102, 1000}) {  // with the root, and lost+found
    bool begun = false;
    std::atomic<int> taken{0};
    const Status done = each_old_by_tables(
        disk.place(), std::time(nullptr) + 60, {.directories = most}, [&](unsigned) { begun = true; },
        [&](unsigned, const std::string&, std::string_view, const OldFile&) { ++taken; });
    EXPECT_EQ(done ? 0 : done.error().code, most < 102 ? E2BIG : 0) << most;
    EXPECT_EQ(begun, most >= 102);
    EXPECT_EQ(taken, most < 102 ? 0 : 100);
  }
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
