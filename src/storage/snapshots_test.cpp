#include "storage/snapshots.h"

#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "storage/linked_names.h"
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
  const Status made = make_snapshot(root, kNow, {}, failures);
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
  ASSERT_TRUE(make_snapshot(root, kNow, {.without = root + "/cluster"}, failures));
  std::ofstream(root + "/a/b/changed") << "new one";
  std::filesystem::remove(root + "/a/link");
  ASSERT_TRUE(make_snapshot(root, kNow + 60, {.without = root + "/cluster"}, failures));
  EXPECT_EQ(failures.count(), 0u);
  EXPECT_FALSE(make_snapshot(root, kNow + 60, {}, failures));
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
  ASSERT_TRUE(make_snapshot(root, kNow, {}, failures));
  const std::string made = root + "/.snapshots/" + snapshot_name(kNow);
  EXPECT_TRUE(std::filesystem::exists(made + "/file"));
  EXPECT_FALSE(std::filesystem::exists(made + "/half"));
  EXPECT_FALSE(std::filesystem::exists(root + "/.snapshots/.making"));
}

ino_t inode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

TEST(Snapshots, names_of_one_file_stay_one_file) {
  const TempTree directory;
  const std::string root = directory / "home";
  std::filesystem::create_directories(root + "/venv/lib");
  for (int i = 0; i < 200; ++i) {
    const std::string name = std::to_string(i);
    directory.write("home/" + name, std::string(1000, 'x'));
    std::filesystem::create_hard_link(root + "/" + name, root + "/venv/" + name);
    std::filesystem::create_hard_link(root + "/" + name, root + "/venv/lib/" + name);
  }
  Failures failures;
  ASSERT_TRUE(make_snapshot(root, kNow, {}, failures));
  directory.write("home/7", "changed");
  ASSERT_TRUE(make_snapshot(root, kNow + 60, {}, failures));
  EXPECT_EQ(failures.count(), 0u);
  for (const int64_t time : {kNow, kNow + 60}) {
    const std::string top = root + "/.snapshots/" + snapshot_name(time);
    for (int i = 0; i < 200; ++i) {
      const std::string name = std::to_string(i);
      const ino_t one = inode_of(top + "/" + name);
      EXPECT_NE(one, 0u);
      EXPECT_EQ(inode_of(top + "/venv/" + name), one);
      EXPECT_EQ(inode_of(top + "/venv/lib/" + name), one);
    }
  }
  const std::string first = root + "/.snapshots/" + snapshot_name(kNow);
  const std::string second = root + "/.snapshots/" + snapshot_name(kNow + 60);
  EXPECT_EQ(std::filesystem::hard_link_count(second + "/8"), 6u);
  EXPECT_EQ(std::filesystem::file_size(first + "/venv/7"), 1000u);
  EXPECT_EQ(std::filesystem::file_size(second + "/venv/7"), 7u);
}

TEST(Snapshots, none_is_begun_where_too_little_is_free) {
  const TempTree directory;
  directory.write("file", "x");
  Failures failures;
  const Status made = make_snapshot(directory.path(), kNow,
                                    {.without = "", .keep_free = {.bytes = uint64_t{1} << 60}}, failures);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ENOSPC);
  EXPECT_NE(made.error().message.find("1.00 EiB are to stay free"), std::string::npos)
      << made.error().message;
  EXPECT_TRUE(list_snapshots(directory.path()).empty());
}

TEST(Snapshots, one_that_would_take_too_much_is_given_up_and_leaves_nothing) {
  const TempTree directory;
  const std::string root = directory / "small";
  std::filesystem::create_directory(root);
  if (::mount("none", root.c_str(), "tmpfs", 0, "size=16m") != 0)
    GTEST_SKIP() << "nothing can be mounted here";
  for (int i = 0; i < 60; ++i) directory.write("small/" + std::to_string(i), std::string(100 << 10, 'x'));
  const auto before = std::filesystem::space(root).available;
  Failures failures;
  const Status made = make_snapshot(root, kNow, {.without = "", .keep_free = {.share = 0.5}}, failures);
  const auto after = std::filesystem::space(root).available;
  const bool left = std::filesystem::exists(root + "/.snapshots/.making");
  const Status enough = make_snapshot(root, kNow, {.without = "", .keep_free = {.share = 0.05}}, failures);
  ::umount2(root.c_str(), MNT_DETACH);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ENOSPC);
  EXPECT_NE(made.error().message.find("8.00 MiB are to stay free"), std::string::npos)
      << made.error().message;
  EXPECT_FALSE(left);
  EXPECT_GE(after + (64 << 10), before);
  EXPECT_TRUE(enough) << enough.error().message;
}

TEST(Snapshots, a_disk_that_is_full_is_no_whole_snapshot) {
  const TempTree directory;
  const std::string root = directory / "small";
  std::filesystem::create_directory(root);
  if (::mount("none", root.c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "nothing can be mounted here";
  for (int i = 0; i < 30; ++i) directory.write("small/" + std::to_string(i), std::string(100 << 10, 'x'));
  Failures failures;
  const Status made = make_snapshot(root, kNow, {}, failures);
  const bool any = !list_snapshots(root).empty();
  ::umount2(root.c_str(), MNT_DETACH);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ENOSPC);
  EXPECT_FALSE(any);
}

TEST(FreeSpace, a_reserve_is_a_part_or_a_size) {
  EXPECT_DOUBLE_EQ(parse_reserve("5%")->share, 0.05);
  EXPECT_EQ(parse_reserve("2G")->bytes, uint64_t{2} << 30);
  EXPECT_EQ(parse_reserve("0")->bytes, 0u);
  for (const char* wrong : {"", "%", "100%", "-1%", "5 percent", "much", "nan%"})
    EXPECT_FALSE(parse_reserve(wrong)) << wrong;
}

TEST(LinkedNames, the_next_name_is_copied_where_the_first_could_not_be) {
  LinkedNames names;
  EXPECT_EQ(names.meet({1, 2}, 3), "");
  names.made({1, 2}, "");
  EXPECT_EQ(names.meet({1, 2}, 3), "");
  names.made({1, 2}, "second");
  EXPECT_EQ(names.meet({1, 2}, 3), "second");
}

}  // namespace
}  // namespace minke::storage
