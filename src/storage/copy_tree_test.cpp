#include "storage/copy_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/fd.h"
#include "storage/remove_tree.h"
#include "storage/testing.h"

namespace minke::storage {
namespace {

namespace fs = std::filesystem;

void make_some_of_everything(const TempTree& tree) {
  for (int i = 0; i < 200; ++i)
    tree.write("from/d" + std::to_string(i % 9) + "/e/f" + std::to_string(i),
               std::string(static_cast<size_t>(i) * 997, static_cast<char>('a' + i % 26)));
  tree.write("from/new\nline", "x");
  fs::create_hard_link(tree / "from/d1/e/f1", tree / "from/again");
  fs::create_symlink("nowhere", tree / "from/link");
  fs::create_directory(tree / "from/empty");
  EXPECT_EQ(::mkfifo((tree / "from/pipe").c_str(), 0620), 0);
  EXPECT_EQ(::chmod((tree / "from/d2/e/f2").c_str(), 0751), 0);
  EXPECT_EQ(::chmod((tree / "from/d3").c_str(), 0555), 0);
  const os::UniqueFd sparse(::open((tree / "from/sparse").c_str(), O_CREAT | O_WRONLY, 0644));
  EXPECT_EQ(::ftruncate(sparse.get(), 64 << 20), 0);
  EXPECT_EQ(::pwrite(sparse.get(), "data", 4, 20 << 20), 4);
  const timespec times[2] = {{1, 2}, {123456789, 987654321}};
  for (const char* path : {"from/d4", "from/d5/e/f5"})
    EXPECT_EQ(::utimensat(AT_FDCWD, (tree / path).c_str(), times, 0), 0);
  (void)::setxattr((tree / "from/d1/e/f1").c_str(), "user.note", "kept", 4, 0);
}

struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status;
}

void expect_same(const std::string& from, const std::string& to) {
  Failures failures;
  ASSERT_TRUE(compare_trees(from, to, 4, failures));
  for (const Error& error : failures.kept()) ADD_FAILURE() << error.message;
}

const CopyOptions kAll{.threads = 4, .keep_owner = true, .keep_group = true};

TEST(CopyTree, keeps_everything) {
  const TempTree tree;
  make_some_of_everything(tree);
  CopyProgress progress;
  const Status copied = copy_tree(tree / "from", tree / "to", kAll, progress);
  ASSERT_TRUE(copied) << progress.failures.kept()[0].message;
  expect_same(tree / "from", tree / "to");
  EXPECT_FALSE(fs::exists(tree / ".to.minke-partial"));
  EXPECT_EQ(status_of(tree / "to/again").st_ino, status_of(tree / "to/d1/e/f1").st_ino);
  EXPECT_EQ(status_of(tree / "to/again").st_nlink, 2u);
  EXPECT_LT(status_of(tree / "to/sparse").st_blocks, 1 << 15);
  EXPECT_EQ(status_of(tree / "to/d2/e/f2").st_mode & 07777, 0751u);
  EXPECT_EQ(status_of(tree / "to/d3").st_mode & 07777, 0555u);
  EXPECT_EQ(status_of(tree / "to/d4").st_mtim.tv_sec, 123456789);
  EXPECT_EQ(status_of(tree / "to/d5/e/f5").st_mtim.tv_nsec, 987654321);
  EXPECT_TRUE(S_ISFIFO(status_of(tree / "to/pipe").st_mode));
  char value[8] = {}, source[8] = {};
  EXPECT_EQ(::getxattr((tree / "to/again").c_str(), "user.note", value, sizeof value),
            ::getxattr((tree / "from/again").c_str(), "user.note", source, sizeof source));
  EXPECT_STREQ(value, source);
}

TEST(CopyTree, does_again_only_what_differs) {
  const TempTree tree;
  make_some_of_everything(tree);
  CopyProgress first, second;
  ASSERT_TRUE(copy_tree(tree / "from", tree / "to", kAll, first));
  tree.write("from/d1/e/f10", "changed");
  tree.write("to/extra/file", "only there");
  CopyOptions options = kAll;
  options.remove_others = true;
  ASSERT_TRUE(copy_tree(tree / "from", tree / "to", options, second));
  EXPECT_EQ(tree.read("to/d1/e/f10"), "changed");
  EXPECT_LE(second.files, 4u);  // the file, and links that are made anew
  EXPECT_EQ(second.removed, 1u);
  expect_same(tree / "from", tree / "to");
}

TEST(CopyTree, one_file_replaces_another_in_one_step) {
  const TempTree tree;
  tree.write("a", "new");
  tree.write("b", "old one");  // another size: both may have been written in one tick of the clock
  CopyProgress progress;
  ASSERT_TRUE(copy_tree(tree / "a", tree / "b", kAll, progress));
  EXPECT_EQ(tree.read("b"), "new");
  fs::create_directory(tree / "directory");
  EXPECT_EQ(copy_tree(tree / "a", tree / "directory", kAll, progress).error().code, EEXIST);
}

TEST(CopyTree, follows_no_link_in_the_destination) {
  const TempTree tree, outside;
  tree.write("from/d/file", "x");
  fs::create_directories(tree / "to");
  fs::create_directory_symlink(outside.path(), tree / "to/d");
  CopyProgress progress;
  EXPECT_FALSE(copy_tree(tree / "from", tree / "to", kAll, progress));
  EXPECT_EQ(progress.failures.count(), 1u);
  EXPECT_TRUE(fs::is_empty(outside.path()));
}

// Killed anywhere, a copy leaves nothing at the destination or all of it; the next copy goes
// on and completes it.
TEST(CopyTree, killed_at_any_time) {
  const TempTree tree;
  make_some_of_everything(tree);
  for (int after = 0; after < 25; ++after) {
    const pid_t child = ::fork();
    if (child == 0) {
      CopyProgress progress;
      CopyOptions options = kAll;
      options.sync = false;
      (void)copy_tree(tree / "from", tree / "to", options, progress);
      ::_exit(0);
    }
    ::usleep(after * 1500);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (fs::exists(tree / "to")) {
      expect_same(tree / "from", tree / "to");
      Failures none;
      ASSERT_TRUE(remove_tree(AT_FDCWD, tree / "to", none));
    }
  }
  CopyProgress progress;
  ASSERT_TRUE(copy_tree(tree / "from", tree / "to", kAll, progress));
  expect_same(tree / "from", tree / "to");
}

TEST(CompareTrees, finds_each_difference) {
  const TempTree tree;
  for (const char* side : {"a/", "b/"}) {
    tree.write(std::string(side) + "content", side);
    tree.write(std::string(side) + "same", "x");
    tree.write(std::string(side) + "mode", "x");
  }
  ASSERT_EQ(::chmod((tree / "b/mode").c_str(), 0777), 0);
  tree.write("a/only", "x");
  tree.write("b/more", "x");
  Failures failures;
  ASSERT_TRUE(compare_trees(tree / "a", tree / "b", 2, failures));
  std::vector<std::string> words;
  for (const Error& error : failures.kept()) words.push_back(error.message.substr(tree.path().size() + 1));
  EXPECT_THAT(words, testing::UnorderedElementsAre(
                         "a/content: the content differs", "a/mode: the mode differs",
                         "a/only: it is missing in the copy", "b/more: only the copy has it"));
}

TEST(RemoveTree, removes_all_and_nothing_else) {
  const TempTree tree, outside;
  outside.write("kept", "x");
  for (int i = 0; i < 500; ++i) tree.write("d/" + std::to_string(i % 13) + "/x/" + std::to_string(i), "x");
  fs::create_directory_symlink(outside.path(), tree / "d/link");
  Failures failures;
  ASSERT_TRUE(remove_tree(AT_FDCWD, tree / "d", failures));
  EXPECT_FALSE(fs::exists(tree / "d"));
  EXPECT_TRUE(fs::exists(outside / "kept"));
  EXPECT_EQ(remove_tree(AT_FDCWD, tree / "d", failures).error().code, ENOENT);
}

}  // namespace
}  // namespace minke::storage
