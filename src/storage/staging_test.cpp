#include "storage/staging.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "storage/testing.h"

namespace minke::storage {
namespace {

namespace fs = std::filesystem;

std::string only_entry(const std::string& cache) {
  std::string found;
  for (const auto& one : fs::directory_iterator(cache)) {
    if (one.path().filename().string().size() != 16) continue;
    EXPECT_EQ(found, "") << one.path();
    found = one.path();
  }
  return found;
}

bool has_half_made(const std::string& cache) {
  for (const auto& one : fs::directory_iterator(cache))
    if (one.path().filename().string().starts_with(".making-")) return true;
  return false;
}

TEST(Staging, a_step_that_cannot_mount_an_image_leaves_it_for_those_who_can) {
  if (std::system("command -v mksquashfs >/dev/null && command -v unsquashfs >/dev/null") != 0)
    GTEST_SKIP() << "mksquashfs and unsquashfs are not installed";
  const TempTree directory;
  directory.write("set/deep/file", "text");
  const std::string image = directory / "set.squashfs", cache = directory / "cache";
  ASSERT_EQ(std::system(("mksquashfs " + (directory / "set") + " " + image + " -quiet >/dev/null").c_str()),
            0);
  for (const char* name : {"cache", "first", "second", "third"}) fs::create_directory(directory / name);
  Failures failures;
  const StageOptions by_step{.cache = cache};
  ASSERT_TRUE(stage(image, directory / "first", by_step, failures));
  // The state that a job leaves after it has mounted it.
  const std::string entry = only_entry(cache);
  fs::permissions(entry + "/content", fs::perms::owner_all);
  fs::remove_all(entry + "/content");
  fs::copy_file(image, entry + "/image");

  const auto second = stage(image, directory / "second", by_step, failures);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(second->cached);
  EXPECT_EQ(directory.read("second/set/deep/file"), "text");
  EXPECT_EQ(only_entry(cache), entry);
  EXPECT_TRUE(fs::exists(entry + "/image"));
  EXPECT_FALSE(has_half_made(cache));
  EXPECT_EQ(fs::status(entry + "/content").permissions() & fs::perms::owner_write, fs::perms::none);
  // The next step finds it.
  const auto third = stage(image, directory / "third", by_step, failures);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_TRUE(third->cached);
  EXPECT_EQ(directory.read("third/set/deep/file"), "text");
  for (const char* name : {"content/deep", "content"})
    fs::permissions(entry + "/" + name, fs::perms::owner_all);
}

TEST(Staging, of_many_that_want_it_one_brings_it_and_no_lock_stays) {
  const TempTree directory;
  directory.write("set/file", std::string(1 << 20, 'x'));
  const std::string cache = directory / "cache";
  fs::create_directory(cache);
  constexpr int kJobs = 12;
  std::atomic<int> brought{0}, wrong{0};
  for (int round = 0; round < 10; ++round) {
    directory.write("set/" + std::to_string(round), "another state");
    std::vector<std::thread> jobs;
    for (int job = 0; job < kJobs; ++job) {
      const std::string name = "job" + std::to_string(round) + "-" + std::to_string(job);
      fs::create_directory(directory / name);
      jobs.emplace_back([&, name] {
        Failures failures;
        const auto staged = stage(directory / "set", directory / name, {.cache = cache}, failures);
        if (!staged || directory.read(name + "/set/file").size() != 1 << 20) ++wrong;
        brought += staged && !staged->cached;
      });
    }
    for (std::thread& job : jobs) job.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(brought, 10);
  for (const auto& one : fs::directory_iterator(cache)) {
    EXPECT_FALSE(one.path().filename().string().starts_with("lock-")) << one.path();
    if (one.is_directory()) fs::permissions(one.path() / "content", fs::perms::owner_all);
  }
}

TEST(Staging, a_mount_whose_place_is_taken_leaves_nothing_half_made) {
  const TempTree directory;
  const std::string image = directory.write("set.squashfs", "hsqs" + std::string(200, '\0'));
  for (const char* name : {"cache", "job"}) fs::create_directory(directory / name);
  directory.write("job/set/own", "text");
  Failures failures;
  const auto staged =
      stage(image, directory / "job", {.cache = directory / "cache", .mount = true}, failures);
  ASSERT_FALSE(staged);
  EXPECT_EQ(staged.error().code, EEXIST);
  EXPECT_EQ(directory.read("job/set/own"), "text");
  EXPECT_FALSE(has_half_made(directory / "cache"));
}

}  // namespace
}  // namespace minke::storage
