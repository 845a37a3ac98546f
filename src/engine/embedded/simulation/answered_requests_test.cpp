// What requests with keys were answered is kept: a little of each user, who pays for it, and for him alone.
#include "engine/embedded/state/answered_requests.h"

#include "api/actions.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/server/budgets.h"
#include "engine/embedded/simulation/request_test.h"
#include "engine/embedded/state/kept_submission.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

class KeptAnswers : public RequestTest {
 protected:
  static constexpr uint64_t kBytes = 1'000'000;  // of each user, in an hour

  void SetUp() override {
    RequestTest::SetUp();
    limit(kBytes);
  }
  void limit(uint64_t bytes) {
    config::BudgetLimits limits = config::default_budgets(100000);
    limits.users[static_cast<size_t>(Budget::kStoredBytes)] = bytes;
    core().rights->budgets().set_limits(limits);
  }
  static std::string key(uint64_t number) {
    const std::string digits = std::to_string(number);
    return std::string(16 - digits.size(), '0') + digits;
  }
  static rpc::RequestEnvelope keyed(rpc::RequestEnvelope request, uint64_t number) {
    request.message().set_key(key(number));
    return request;
  }
  uint32_t submit_held(uint32_t uid) {
    return submit(uid, [](JobSpec& spec) { spec.set_hold(true); });
  }
  bool is_kept(uint64_t number, uint32_t uid) { return core().answered->find(key(number), uid)->has_value(); }
  size_t rows() { return store().load()->rows.read(store::kAnswers).size(); }
};

// One user's requests take neither the room of others nor their answers.
TEST_F(KeptAnswers, AreFewAndPaidFor) {
  const uint32_t of_bob = submit_held(kBob), job = submit_held(kAlice);
  ASSERT_EQ(outcome(kBob, keyed(update(of_bob, "Comment", "mine"), 0)), 0u);
  uint64_t done = 0;
  while (done < 20000 && outcome(kAlice, keyed(update(job, "Comment", "mine"), done)) == 0) ++done;
  EXPECT_GT(done, 1000u);
  EXPECT_LT(done, kBytes / 128);
  EXPECT_NE(what_was_said().find("budget stored_bytes"), std::string::npos) << what_was_said();
  EXPECT_EQ(rows(), 201u);
  EXPECT_EQ(outcome(kAlice, keyed(update(job, "Comment", "mine"), done - 1)), 0u) << "it was answered before";
  restart();
  EXPECT_TRUE(is_kept(0, kBob));
  EXPECT_FALSE(is_kept(0, kAlice)) << "very many came after it";
  EXPECT_TRUE(is_kept(done - 1, kAlice));
  EXPECT_FALSE(is_kept(done - 1, kBob));
}

TEST_F(KeptAnswers, TheSameKeyOfTwoUsersIsTwoKeys) {
  const uint32_t of_alice = submit_held(kAlice), of_bob = submit_held(kBob);
  ASSERT_EQ(outcome(kAlice, keyed(update(of_alice, "Comment", "hers"), 7)), 0u);
  EXPECT_EQ(outcome(kBob, keyed(update(of_alice, "Comment", "his"), 7)), uint32_t{kAccessDenied});
  EXPECT_EQ(rows(), 1u);
  ASSERT_EQ(outcome(kBob, keyed(update(of_bob, "Comment", "his"), 7)), 0u);
  EXPECT_EQ(core().state.find(of_bob)->submission->spec().comment(), "his");
  EXPECT_EQ(rows(), 2u);
  restart();
  EXPECT_EQ(outcome(kAlice, keyed(cancel(of_alice), 7)), 0u);
  EXPECT_EQ(state(of_alice), JOB_PENDING) << "it was answered, not done";
}

TEST_F(KeptAnswers, LargeOnesLeaveSooner) {
  limit(100 * kBytes);
  api::ActionReply reply;
  reply.set_created(std::string(60000, 'c'));
  for (uint64_t i = 0; i < 10; ++i) core().answered->note(key(i), kAlice, reply);
  reply.set_created(std::string(70000, 'c'));
  core().answered->note(key(10), kAlice, reply);
  for (uint64_t i = 0; i < 11; ++i) EXPECT_EQ(is_kept(i, kAlice), i >= 6 && i < 10) << i;
}

TEST_F(KeptAnswers, OneThatCannotBePaidIsNotKept) {
  limit(1000);
  api::ActionReply reply;
  reply.set_created(std::string(2000, 'c'));
  core().answered->note(key(1), kAlice, reply);
  EXPECT_FALSE(is_kept(1, kAlice));
  engine().pass(1);
  EXPECT_EQ(rows(), 0u);
}

}  // namespace
}  // namespace minke::engine::simulation
