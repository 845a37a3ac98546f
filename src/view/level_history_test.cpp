#include "view/level_history.h"

#include <gtest/gtest.h>

#include "model/accounts.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

// Two accounts with one user each, under root; what they have used by now.
api::AccountsReply tree_of(double physics, double biology, uint64_t half_life) {
  api::AccountsReply tree;
  tree.set_now(test::kMidnight);
  tree.set_usage_half_life(half_life);
  const auto add = [&](uint32_t id, const char* account, const char* user, double used) {
    model::AssociationRecord& one = *tree.add_associations();
    one.set_id(id);
    one.set_account(account);
    one.set_user(user);
    if (id != 1 && *user == '\0') one.set_parent_account("root");
    one.set_shares(1);
    tree.add_usage()->set_raw(used);
    tree.add_running();
    tree.add_fair_share(0);
  };
  add(1, "root", "", physics + biology);
  add(2, "physics", "", physics);
  add(3, "biology", "", biology);
  add(4, "physics", "ada", physics);
  add(5, "biology", "bob", biology);
  return tree;
}

model::JobRecord job_of(uint32_t association, int64_t start, int64_t end, double billing) {
  model::JobRecord job = test::job(1, "x", model::JOB_COMPLETE);
  job.set_association_id(association);
  job.set_start_time(start);
  job.set_end_time(end);
  job.set_billing(billing);
  return job;
}

TEST(LevelHistory, GoesBackThroughTheJobs) {
  const int64_t now = test::kMidnight;
  // Both used as much; physics all of it in the last 100 s.
  LevelHistory history(tree_of(1000, 1000, 0), now - 200, 3);
  history.add(job_of(4, now - 100, now, 10));
  history.add(job_of(77, now - 100, now, 10));  // of no association
  EXPECT_EQ(history.moments(), (std::vector<int64_t>{now - 200, now - 100, now}));
  const auto curves = history.curves("ada", 10);
  ASSERT_EQ(curves.size(), 3u);  // two accounts, and ada; not bob
  EXPECT_EQ(curves[0].account, "physics");
  EXPECT_EQ(curves[0].levels, (std::vector<std::optional<double>>{std::nullopt, std::nullopt, 1}));
  EXPECT_EQ(curves[1].account, "biology");
  EXPECT_EQ(curves[1].levels, (std::vector<std::optional<double>>{0.5, 0.5, 1}));
  EXPECT_EQ(curves[2].user, "ada");
  EXPECT_EQ(history.curves("", 1).size(), 1u);
}

TEST(LevelHistory, WhatWasUsedCountsLessAndLess) {
  const int64_t now = test::kMidnight, half_life = 100;
  // A half-life ago biology had used 2000; so had physics, which used nothing since.
  LevelHistory history(tree_of(1000, 1000, half_life), now - half_life, 2);
  const auto before = history.curves("", 10);
  ASSERT_TRUE(before[0].levels[0]);
  EXPECT_DOUBLE_EQ(*before[0].levels[0], 1);
  // 1 a second for 100 s counts for 100 / ln 2 * (1 - 1/2) at the end.
  LevelHistory with_job(tree_of(1000 + 72.13475204444818, 1000, half_life), now - half_life, 2);
  with_job.add(job_of(4, now - half_life, now, 1));
  const auto after = with_job.curves("", 10);
  EXPECT_NEAR(*after[0].levels[0], 1, 1e-6);
  EXPECT_LT(*after[0].levels[1], 1);
}

}  // namespace
}  // namespace minke::view
