// Changes of limits while many jobs wait: each gets to know of them, a slice at a time, and none is lost.
#include <string>
#include <vector>

#include "accounts/testing.h"
#include "api/accounts.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/simulation/programs.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/accounts.pb.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

class LimitsAgainTest : public RequestTest {
 protected:
  static constexpr uint32_t kJobs = 200;

  void SetUp() override {
    start("", "[accounting]\nenforce = [\"limits\"]\n");
    rpc::RequestEnvelope change = change_of_accounts();
    api::UpdateAccountsRequest& update = change.body<api::UpdateAccountsRequest>();
    update.add_accounts()->set_name("lab");
    AssociationRecord& lab = *update.add_associations();
    lab = accounts::testing::account("lab", "root");
    lab.mutable_limits()->set_grp_jobs(1);
    update.add_users()->set_name(std::to_string(kAlice));
    *update.add_associations() = accounts::testing::member(std::to_string(kAlice), "lab");
    ASSERT_EQ(outcome(kRoot, change), 0u) << what_was_said();
    for (uint32_t i = 0; i < kJobs; ++i) {
      jobs_.push_back(submit(kAlice, [i](JobSpec& spec) {
        spec.set_account("lab");
        spec.set_time_limit_minutes(10 + i);  // each is of a kind of its own
      }));
      ASSERT_NE(jobs_.back(), 0u) << what_was_said();
    }
  }

  uint32_t limit(uint32_t jobs) {
    rpc::RequestEnvelope change = change_of_accounts();
    AssociationRecord& lab = *change.body<api::UpdateAccountsRequest>().add_associations();
    lab = *core().accounts->book().find("lab");
    lab.mutable_limits()->set_grp_jobs(jobs);
    return outcome(kRoot, change);
  }
  int running() {
    int count = 0;
    for (const uint32_t job : jobs_) {
      const Job* found = core().state.find(job);
      count += found != nullptr && found->state == JOB_RUNNING;
    }
    return count;
  }

  std::vector<uint32_t> jobs_;
};

TEST_F(LimitsAgainTest, EveryWaitingJobFollowsThem) {
  EXPECT_EQ(running(), 1);
  for (uint32_t most = 2; most <= 6; ++most) {
    ASSERT_EQ(limit(most), 0u) << what_was_said();
    engine().pass(1);
    EXPECT_EQ(running(), static_cast<int>(most));
  }
  ASSERT_EQ(limit(3), 0u) << what_was_said();
  EXPECT_EQ(shown(jobs_.back()).reason(), ASSOC_GRP_JOBS);
  EXPECT_EQ(core().scheduling->queued(), kJobs - 6);
  for (uint32_t ended = 0; ended < 4; ++ended) engine().end_one(0, 0);
  engine().pass(1);
  EXPECT_EQ(running(), 3);
}

// Changes without end do not keep those at the end of the list from having their turn.
TEST_F(LimitsAgainTest, ChangesMayFollowOneAnother) {
  for (int i = 0; i < 20; ++i) core().accounts->policy_changed();
  const uint32_t before = core().accounts->first_group();
  EXPECT_EQ(outcome(kAlice, cancel(jobs_[5])), 0u);
  for (int i = 0; i < 3; ++i) core().accounts->policy_changed();
  engine().settle();
  EXPECT_GT(core().accounts->first_group(), before);
  ASSERT_EQ(limit(2), 0u) << what_was_said();
  engine().pass(1);
  EXPECT_EQ(running(), 2);
  for (const uint32_t job : jobs_)
    if (job != jobs_[5]) EXPECT_NE(shown(job).reason(), WAIT_HELD) << job;
}

}  // namespace
}  // namespace minke::engine::simulation
