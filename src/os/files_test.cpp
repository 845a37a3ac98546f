#include "os/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "os/shortage.h"
#include "os/volatile_file.h"

namespace {

std::vector<std::string> synced;  // by the calls of fsync(2), in order

}  // namespace

// Replaces the C library's in the whole test program.
extern "C" int fsync(int file) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  if (length > 0) synced.emplace_back(path, static_cast<size_t>(length));
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace minke::os {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    std::string name = std::filesystem::temp_directory_path() / "minke-files-XXXXXX";
    MINKE_CHECK(::mkdtemp(name.data()) != nullptr);
    directory = name;
    synced.clear();
  }
  ~FilesTest() override { std::filesystem::remove_all(directory); }

  std::string directory;
};

TEST_F(FilesTest, WhatIsReplacedIsOnTheDiskBeforeItsNameIs) {
  const std::string path = directory + "/file";
  ASSERT_TRUE(replace_file(path, "new", 0640));
  const std::string temporary = path + "." + std::to_string(::getpid()) + ".new";
  EXPECT_THAT(synced, ElementsAre(temporary, directory));
  EXPECT_EQ(read_file(path, 100).value(), "new");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_F(FilesTest, WhatIsMadeAgainAnywayIsNotWaitedFor) {
  const std::string path = directory + "/file";
  ASSERT_TRUE(replace_volatile_file(path, "new", 0600));
  EXPECT_THAT(synced, IsEmpty());
  EXPECT_EQ(read_file(path, 100).value(), "new");
}

TEST_F(FilesTest, AFailureLeavesTheOldContentsAndNothingElse) {
  const std::string path = directory + "/file";
  ASSERT_TRUE(std::filesystem::create_directories(path + "/full"));
  const Status done = replace_file(path, "new", 0600);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, EISDIR);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 1);
}

TEST(Shortage, IsWhatSaysNothingOfTheRequest) {
  for (const int error : {ENOSPC, EDQUOT, EROFS, EMFILE, ENFILE, EAGAIN, ENOMEM})
    EXPECT_TRUE(is_shortage(error));
  for (const int error : {0, ENOENT, EACCES, EINVAL, ENOTDIR}) EXPECT_FALSE(is_shortage(error));
}

}  // namespace
}  // namespace minke::os
