#include "os/trusted_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace minke::os {
namespace {

int code_of(const std::string& path) {
  const Status done = check_only_root_changes(path);
  return done ? 0 : done.error().code;
}

TEST(TrustedFile, WhatIsRootsAlone) {
  EXPECT_EQ(code_of("/usr/bin/env"), 0);
  EXPECT_EQ(code_of("/"), 0);
  EXPECT_EQ(code_of("/usr/./bin/../bin//env"), 0);
  EXPECT_EQ(code_of("/usr/bin/not there"), ENOENT);
  EXPECT_EQ(code_of("usr/bin/env"), EINVAL);
  EXPECT_EQ(code_of(""), EINVAL);
}

TEST(TrustedFile, WhatOthersMayChange) {
  // Anybody may replace it, whatever it is and wherever it leads.
  char directory[] = "/tmp/trusted-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  const std::string link = std::string(directory) + "/link", back = std::string(directory) + "/loop";
  ASSERT_EQ(::symlink("/usr/bin/env", link.c_str()), 0);
  ASSERT_EQ(::symlink(back.c_str(), back.c_str()), 0);
  EXPECT_EQ(code_of(directory), EPERM);
  EXPECT_EQ(code_of(link), EPERM);
  EXPECT_EQ(code_of(back), EPERM);
  ::unlink(link.c_str());
  ::unlink(back.c_str());
  ::rmdir(directory);
}

// A path of root's own, in a directory that nobody else may write to.
class Rooted : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_NE(::mkdtemp(directory_), nullptr);
    path_ = directory_;
  }
  void TearDown() override {
    for (const char* name : {"/program", "/link", "/a", "/b"}) ::unlink((path_ + name).c_str());
    if (!path_.empty()) ::rmdir(path_.c_str());
  }
  char directory_[64] = "/var/lib/trusted-XXXXXX";
  std::string path_;
};

TEST_F(Rooted, LinksAreFollowed) {
  ASSERT_EQ(::symlink("/usr/bin/env", (path_ + "/link").c_str()), 0);
  EXPECT_EQ(code_of(path_ + "/link"), 0);
  ASSERT_EQ(::symlink("/tmp", (path_ + "/a").c_str()), 0);
  EXPECT_EQ(code_of(path_ + "/a"), EPERM);
  ASSERT_EQ(::symlink("b", (path_ + "/b").c_str()), 0);
  EXPECT_EQ(code_of(path_ + "/b"), ELOOP);
  ASSERT_EQ(::lchown((path_ + "/link").c_str(), 1, 1), 0);
  EXPECT_EQ(code_of(path_ + "/link"), EPERM);
}

TEST_F(Rooted, OwnersAndModes) {
  const std::string program = path_ + "/program";
  ASSERT_EQ(::mknod(program.c_str(), S_IFREG | 0700, 0), 0);
  EXPECT_EQ(code_of(program), 0);
  ASSERT_EQ(::chmod(program.c_str(), 0720), 0);
  EXPECT_EQ(code_of(program), EPERM);
  ASSERT_EQ(::chmod(program.c_str(), 0700), 0);
  ASSERT_EQ(::chown(program.c_str(), 1, 0), 0);
  EXPECT_EQ(code_of(program), EPERM);
  ASSERT_EQ(::chown(program.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
  EXPECT_EQ(code_of(program), EPERM);
}

}  // namespace
}  // namespace minke::os
