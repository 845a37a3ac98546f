#include "node/device_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

namespace minke::node {
namespace {

// A group of version 2, wherever that is mounted; empty: nowhere.
std::string version_2_mount() {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, at, type, rest;
  while (mounts >> device >> at >> type && std::getline(mounts, rest)) {
    if (type == "cgroup2") return at;
  }
  return "";
}

// What open(2) says of the device to a process of the group.
int open_within(const std::string& group, const char* device) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int procs = ::open((group + "/cgroup.procs").c_str(), O_WRONLY);
    if (procs < 0 || ::write(procs, "0", 1) != 1) ::_exit(255);
    ::_exit(::open(device, O_RDONLY | O_NONBLOCK) >= 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(DeviceFilter, KeepsAGroupFromDevices) {
  const std::string mount = version_2_mount();
  if (mount.empty() || ::geteuid() != 0) GTEST_SKIP() << "needs root, and control groups of version 2";
  if (const auto loaded = load_device_filter({}); !loaded)
    GTEST_SKIP() << "this kernel takes no device filters: " << loaded.error().message;
  const std::string group = mount + "/minke-test-" + std::to_string(::getpid());
  ASSERT_TRUE(std::filesystem::create_directory(group));
  struct stat zero {};
  ASSERT_EQ(::stat("/dev/zero", &zero), 0);
  const Status attached = attach_device_filter(group, {zero.st_rdev});
  EXPECT_TRUE(attached) << attached.error().message;
  EXPECT_EQ(open_within(group, "/dev/zero"), EPERM);
  EXPECT_EQ(open_within(group, "/dev/null"), 0);
  EXPECT_EQ(open_within(mount, "/dev/zero"), 0);
  // Those of another name stay.
  ASSERT_TRUE(attach_device_filter(group, {zero.st_rdev}, "minke_test"));
  const auto mine = find_device_filters(group, "minke_test");
  ASSERT_TRUE(mine) << mine.error().message;
  EXPECT_EQ(mine->size(), 1U);
  ASSERT_TRUE(detach_device_filters(group, *mine));
  EXPECT_TRUE(find_device_filters(group, "minke_test")->empty());
  EXPECT_EQ(open_within(group, "/dev/zero"), EPERM);
  ASSERT_TRUE(detach_device_filters(group, *find_device_filters(group, "")));
  EXPECT_EQ(open_within(group, "/dev/zero"), 0);
  for (int tries = 0; tries < 1000 && ::rmdir(group.c_str()) != 0; ++tries) ::usleep(1000);
}

TEST(DeviceFilter, ManyDevicesAreOneProgram) {
  std::vector<dev_t> many;
  for (unsigned minor = 0; minor < 300; ++minor) many.push_back(makedev(195, minor));
  const auto loaded = load_device_filter(many);
  if (!loaded &&
      (loaded.error().code == EPERM || loaded.error().code == ENOSYS || loaded.error().code == EINVAL))
    GTEST_SKIP() << loaded.error().message;
  EXPECT_TRUE(loaded) << loaded.error().message;
}

}  // namespace
}  // namespace minke::node
