#include "storage/snapshots.h"

#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "storage/testing.h"

namespace minke::storage {
namespace {

constexpr int64_t kDay = 86400, kNow = 1'800'000'000;

TEST(Snapshots, names_are_times) {
  EXPECT_EQ(snapshot_name(1'795'276'800), "@GMT-2026.11.21-16.00.00");
  EXPECT_EQ(snapshot_time("@GMT-2026.11.21-16.00.00"), 1'795'276'800);
  EXPECT_FALSE(snapshot_time("@GMT-2026.11.21"));
  EXPECT_FALSE(snapshot_time("@GMT-2026.11.21-16.00.00x"));
  EXPECT_FALSE(snapshot_time(".making"));
}

TEST(Snapshots, the_rules_keep_the_first_of_each_period) {
  std::vector<int64_t> times;
  for (int day = 0; day < 100; ++day) {
    times.push_back((kNow / kDay - day) * kDay + 60);
    times.push_back((kNow / kDay - day) * kDay + 7200);
  }
  const std::vector<SnapshotRule> rules = {{86400, 7}, {7 * 86400, 4}};
  const auto expired = expired_snapshots(times, rules, kNow);
  // Seven days, up to four weeks (some of which begin on one of those days), and the latest.
  EXPECT_GE(times.size() - expired.size(), 9u);
  EXPECT_LE(times.size() - expired.size(), 12u);
  EXPECT_EQ(std::count(expired.begin(), expired.end(), kNow / kDay * kDay + 60), 0);
  EXPECT_EQ(std::count(expired.begin(), expired.end(), kNow / kDay * kDay + 7200), 0);  // the latest
  EXPECT_EQ(std::count(expired.begin(), expired.end(), (kNow / kDay - 1) * kDay + 7200), 1);
  // A second pass removes nothing more.
  std::erase_if(times, [&](int64_t t) { return std::count(expired.begin(), expired.end(), t) > 0; });
  EXPECT_TRUE(expired_snapshots(times, rules, kNow).empty());
}

TEST(Snapshots, the_next_is_due_at_the_next_period) {
  const std::vector<SnapshotRule> rules = {{86400, 7}, {1800, 4}};
  EXPECT_EQ(next_snapshot({}, rules, kNow), kNow);
  EXPECT_EQ(next_snapshot({1000 * 1800 + 5}, rules, 1000 * 1800 + 10), 1001 * 1800);
  EXPECT_EQ(next_snapshot({1000 * 1800 + 5}, rules, kNow), kNow);
}

TEST(Snapshots, attributes_for_which_there_is_no_space_are_named) {
  const TempTree directory;
  const std::string root = directory / "small";
  std::filesystem::create_directory(root);
  // A file system that holds the files twice, but what is attached to them only a little more than once.
  if (::mount("none", root.c_str(), "tmpfs", 0, "nr_inodes=78,size=8m") != 0)
    GTEST_SKIP() << "nothing can be mounted here";
  Failures failures;
  const std::string value(10'000, 'x');
  bool attached = true;
  for (const char* name : {"1", "2", "3", "4", "5"}) {
    directory.write(std::string("small/") + name, name);
    attached =
        attached && ::setxattr((root + "/" + name).c_str(), "user.note", value.data(), value.size(), 0) == 0;
  }
  const Status made = make_snapshot(root, kNow, "", failures);
  size_t arrived = 0;
  for (const char* name : {"1", "2", "3", "4", "5"}) {
    const std::string copy = root + "/.snapshots/" + snapshot_name(kNow) + "/" + name;
    EXPECT_EQ(directory.read("small/.snapshots/" + snapshot_name(kNow) + "/" + name), name);
    if (::getxattr(copy.c_str(), "user.note", nullptr, 0) > 0) ++arrived;
  }
  ::umount2(root.c_str(), MNT_DETACH);
  if (!attached) GTEST_SKIP() << "the kernel has no such attributes on a tmpfs";
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_LT(arrived, 5u);
  EXPECT_EQ(failures.count(), 5 - arrived);
  ASSERT_FALSE(failures.kept().empty());
  EXPECT_NE(failures.kept()[0].message.find("user.note: No space left on device"), std::string::npos)
      << failures.kept()[0].message;
}

TEST(Snapshots, unchanged_files_are_shared_and_changed_ones_are_not) {
  const TempTree directory;
  const std::string root = directory / "tree";
  std::filesystem::create_directories(root + "/a/b");
  std::filesystem::create_directories(root + "/cluster");
  std::ofstream(root + "/a/same") << "same";
  std::ofstream(root + "/a/b/changed") << "old";
  std::ofstream(root + "/cluster/left-out") << "x";
  std::filesystem::create_symlink("nowhere", root + "/a/link");
  Failures failures;
  ASSERT_TRUE(make_snapshot(root, kNow, root + "/cluster", failures));
  std::ofstream(root + "/a/b/changed") << "new one";
  std::filesystem::remove(root + "/a/link");
  ASSERT_TRUE(make_snapshot(root, kNow + 60, root + "/cluster", failures));
  EXPECT_EQ(failures.count(), 0u);
  EXPECT_FALSE(make_snapshot(root, kNow + 60, "", failures));
  EXPECT_EQ(list_snapshots(root), (std::vector<int64_t>{kNow + 60, kNow}));
  const std::string first = root + "/.snapshots/" + snapshot_name(kNow);
  const std::string second = root + "/.snapshots/" + snapshot_name(kNow + 60);
  struct stat live {
  }, one{}, two{};
  ::stat((root + "/a/same").c_str(), &live);
  ASSERT_EQ(::stat((first + "/a/same").c_str(), &one), 0);
  ASSERT_EQ(::stat((second + "/a/same").c_str(), &two), 0);
  EXPECT_EQ(one.st_ino, two.st_ino);
  EXPECT_NE(one.st_ino, live.st_ino);
  EXPECT_EQ(one.st_mtim.tv_nsec, live.st_mtim.tv_nsec);
  EXPECT_EQ(std::filesystem::file_size(first + "/a/b/changed"), 3u);
  EXPECT_EQ(std::filesystem::file_size(second + "/a/b/changed"), 7u);
  EXPECT_TRUE(std::filesystem::is_symlink(first + "/a/link"));
  EXPECT_FALSE(std::filesystem::exists(second + "/.snapshots"));
  EXPECT_FALSE(std::filesystem::exists(first + "/cluster"));

  const auto versions = versions_of(root + "/a/b/changed");
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[0].size, 7u);
  EXPECT_EQ(versions[1].path, first + "/a/b/changed");
  EXPECT_EQ(versions_of(root + "/a/same").size(), 1u);
  EXPECT_TRUE(versions_of(root + "/a/never").empty());

  ASSERT_TRUE(remove_snapshot(root, kNow, failures));
  EXPECT_EQ(list_snapshots(root), (std::vector<int64_t>{kNow + 60}));
  EXPECT_TRUE(std::filesystem::exists(second + "/a/same"));
}

TEST(Snapshots, a_killed_one_is_made_anew) {
  const TempTree directory;
  const std::string root = directory.path();
  std::filesystem::create_directories(root + "/.snapshots/.making/half");
  std::ofstream(root + "/file") << "x";
  Failures failures;
  ASSERT_TRUE(make_snapshot(root, kNow, "", failures));
  const std::string made = root + "/.snapshots/" + snapshot_name(kNow);
  EXPECT_TRUE(std::filesystem::exists(made + "/file"));
  EXPECT_FALSE(std::filesystem::exists(made + "/half"));
  EXPECT_FALSE(std::filesystem::exists(root + "/.snapshots/.making"));
}

}  // namespace
}  // namespace minke::storage
