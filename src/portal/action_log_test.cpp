#include "portal/action_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace minke::portal {
namespace {

class ActionLog : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "actions.XXXXXX";
    place_ = ::mkdtemp(pattern.data());
    ::setenv("XDG_STATE_HOME", place_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_STATE_HOME");
    std::filesystem::remove_all(place_);
  }
  std::filesystem::path place_;
};

TEST_F(ActionLog, TellsTheNewestFirst) {
  EXPECT_TRUE(actions_logged(10).empty());
  log_action({100, "ada", "POST /api/v1/jobs/1/cancel", 200});
  log_action({101, "ada", "POST /x\ny \x1b[2J", 404});
  const auto all = actions_logged(10);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].time, 101);
  EXPECT_EQ(all[0].what, "POST /x?y ?[2J");
  EXPECT_EQ(all[0].status, 404u);
  EXPECT_EQ(all[1].user, "ada");
  EXPECT_EQ(actions_logged(1).size(), 1u);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(place_ / "minke/portal.log").permissions(),
            perms::owner_read | perms::owner_write);
}

TEST_F(ActionLog, IsBounded) {
  for (int i = 0; i < 20000; ++i) log_action({i, "ada", std::string(1000, 'x'), 200});
  uintmax_t bytes = 0;
  for (const auto& one : std::filesystem::directory_iterator(place_ / "minke")) bytes += one.file_size();
  EXPECT_LT(bytes, 600u * 1024);
  EXPECT_EQ(actions_logged(5)[0].time, 19999);
}

TEST_F(ActionLog, OfAllIsBoundedAndKeepsTheNewest) {
  const std::string file = place_ / "portal.log";
  const os::UniqueFd log(::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  for (int i = 0; i < 20000; ++i) log_shared_action(log.get(), {i, "ada", std::string(1000, 'x'), 200});
  EXPECT_LT(std::filesystem::file_size(file), 5u << 20);
  const auto all = shared_actions_logged(file, 20000);
  ASSERT_GT(all.size(), 3000u);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].time, 19999 - static_cast<int64_t>(i));
  EXPECT_TRUE(shared_actions_logged(place_ / "none", 10).empty());
}

}  // namespace
}  // namespace minke::portal
