#include "node/tmp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "node/launch.pb.h"
#include "node/launcher_harness.h"
#include "node/tmp_dir_pool.h"

namespace minke::node {
namespace {

std::set<std::string> names_in(const std::string& path) {
  std::set<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  while (dirent* entry = directory ? ::readdir(directory.get()) : nullptr) names.insert(entry->d_name);
  names.erase(".");
  names.erase("..");
  return names;
}

ino_t inode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info.st_ino;
}

class TmpDir : public testing::Test {
 protected:
  TemporaryDirectory directory;
  std::string path = directory / "job";
};

TEST_F(TmpDir, IsMadePrivateAndOnlyItsLast) {
  mode_t old = ::umask(0);
  ASSERT_TRUE(make_tmp_dir(path));
  ::umask(old);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_TRUE(make_tmp_dir(path));  // ours already
  EXPECT_EQ(make_tmp_dir(directory / "a/b").error().code, ENOENT);
  ASSERT_EQ(::symlink(path.c_str(), (directory / "link").c_str()), 0);
  EXPECT_EQ(make_tmp_dir(directory / "link").error().code, EEXIST);
}

TEST_F(TmpDir, NeverRemovesWhatALinkPointsTo) {
  ASSERT_TRUE(make_tmp_dir(path));
  ASSERT_TRUE(make_tmp_dir(directory / "other"));
  write_whole(directory / "other/file", "kept");
  ASSERT_EQ(::symlink((directory / "other").c_str(), (path + "/link").c_str()), 0);
  EXPECT_FALSE(remove_empty_tmp_dir(path));
  ASSERT_TRUE(remove_tmp_dir(path));
  EXPECT_TRUE(remove_tmp_dir(path));  // not there: fine
  ASSERT_EQ(::symlink((directory / "other").c_str(), path.c_str()), 0);
  EXPECT_FALSE(remove_tmp_dir(path));
  EXPECT_EQ(read_whole(directory / "other/file"), "kept");
}

// Deeper than paths and descriptors reach.
TEST_F(TmpDir, RemovesAnyDepth) {
  ASSERT_TRUE(make_tmp_dir(path));
  constexpr char kLong[] = "a-directory-in-a-directory";
  os::UniqueFd at(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 700; ++depth) {
    ASSERT_EQ(::mkdirat(at.get(), kLong, 0700), 0);
    if (depth % 100 == 0) {  // names that the removal itself uses
      ASSERT_EQ(::mkdirat(at.get(), ".minke-remove-0", 0700), 0);
    }
    os::UniqueFd file(::openat(at.get(), "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    at.reset(::openat(at.get(), kLong, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at);
  }
  auto removed = remove_tmp_dir(path);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(TmpDir, APoolHandsEmptyOnesOn) {
  std::string next = directory / "next";
  {
    TmpDirPool pool("test");
    ASSERT_TRUE(pool.make(path));
    ino_t inode = inode_of(path);
    EXPECT_TRUE(pool.remove_if_empty(path));
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
    EXPECT_EQ(names_in(directory.path()), std::set<std::string>{".minke-test-0"});
    ASSERT_TRUE(pool.make(next));
    EXPECT_EQ(inode_of(next), inode);
    EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"next"});
    EXPECT_TRUE(pool.remove_if_empty(next));
    EXPECT_TRUE(pool.remove_if_empty(next));  // gone already
  }
  EXPECT_TRUE(names_in(directory.path()).empty());
}

TEST_F(TmpDir, APoolHandsNothingOnThatAJobHasLeftItsMarkOn) {
  TmpDirPool pool("test");
  ASSERT_TRUE(pool.make(path));
  write_whole(path + "/file", "private");
  EXPECT_FALSE(pool.remove_if_empty(path));
  ::unlink((path + "/file").c_str());
  ::chmod(path.c_str(), 01777);
  EXPECT_TRUE(pool.remove_if_empty(path));
  EXPECT_TRUE(names_in(directory.path()).empty());
  EXPECT_TRUE(pool.empty());
}

TEST_F(TmpDir, APoolTakesWhatIsThere) {
  TmpDirPool pool("test");
  ASSERT_TRUE(pool.make(directory / "a"));
  EXPECT_TRUE(pool.remove_if_empty(directory / "a"));
  // The job's run before this one left it: it stays what it is.
  ASSERT_TRUE(make_tmp_dir(path));
  write_whole(path + "/file", "older");
  ASSERT_TRUE(pool.make(path));
  EXPECT_EQ(read_whole(path + "/file"), "older");
  // A spare one that a killed launcher left is no obstacle.
  ASSERT_TRUE(make_tmp_dir(directory / ".minke-test-0"));
  ASSERT_TRUE(pool.make(directory / "b"));
  EXPECT_TRUE(pool.remove_if_empty(directory / "b"));
  EXPECT_EQ(names_in(directory.path()), (std::set<std::string>{".minke-test-0", "job"}));
}

TEST_F(TmpDir, APoolHandsNobodysDirectoryToAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root hands directories over";
  TmpDirPool pool("test");
  const Owner one{12341, 12341};
  const Owner other{12342, 12341};
  ASSERT_TRUE(pool.make(path, one));
  const ino_t inode = inode_of(path);
  EXPECT_TRUE(pool.remove_if_empty(path));
  ASSERT_TRUE(pool.make(path, other));
  EXPECT_NE(inode_of(path), inode);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, other.uid);
  ASSERT_TRUE(pool.make(directory / "ones", one));
  EXPECT_EQ(inode_of(directory / "ones"), inode);
}

TEST_F(TmpDir, EmptyOnesOfNoJobAreRemoved) {
  for (const char* name : {"job1", "job2", "job3", "other"}) ASSERT_TRUE(make_tmp_dir(directory / name));
  write_whole(directory / "job3/file", "kept");
  remove_unused_tmp_dirs(directory.path(), {1});
  EXPECT_EQ(names_in(directory.path()), (std::set<std::string>{"job1", "job3", "other"}));
}

TEST_F(TmpDir, WhatComesIntoASpareOneGoesWithIt) {
  TmpDirPool pool("test");
  ASSERT_TRUE(pool.make(path));
  EXPECT_TRUE(pool.remove_if_empty(path));
  write_whole(directory / ".minke-test-0/file", "by who has it open still");
  pool.remove_spares();
  EXPECT_TRUE(eventually([&] { return names_in(directory.path()).empty(); }));
}

TEST_F(TmpDir, ALauncherKeepsNoSpareOnesOnceItIsIdle) {
  LauncherHarness launcher;
  for (uint32_t job = 1; job <= 3; ++job) {
    LaunchOrder order = batch_order(job, "ls -A $TMP", launcher.home.path());
    order.set_tmp_dir(directory / ("job" + std::to_string(job)));
    order.mutable_tasks(0)->add_environment("TMP=" + order.tmp_dir());
    EXPECT_EQ(launcher.run(order).ended_tasks(0).status(), 0);
    EXPECT_EQ(read_whole(launcher.home / ("out." + std::to_string(job))), "");
    EXPECT_NE(::access(order.tmp_dir().c_str(), F_OK), 0);
  }
  EXPECT_TRUE(eventually([&] { return names_in(directory.path()).empty(); }));
}

}  // namespace
}  // namespace minke::node
