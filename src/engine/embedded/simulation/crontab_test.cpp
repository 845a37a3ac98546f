// Crontabs: which jobs recur and when, what replaces and ends them, and whose they are.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/actions.pb.h"
#include "api/crontabs.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/core.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "store/store.h"
#include "store/tables.h"
#include "submit/crontab.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

constexpr int64_t kFirstMinute = RequestEngine::kBeginning / 60 * 60 + 60;

class CrontabTest : public RequestTest {
 protected:
  // An entry for each line; `change` has the spec of each.
  rpc::RequestEnvelope crontab(uint32_t uid, const std::vector<std::string>& times,
                               const std::function<void(JobSpec& spec, size_t i)>& change = nullptr) {
    rpc::RequestEnvelope message;
    auto& update = message.body<api::UpdateCrontabRequest>();
    update.set_uid(uid);
    for (size_t i = 0; i < times.size(); ++i) {
      rpc::RequestEnvelope one = submission();
      api::SubmitRequest& entry = *update.add_entries();
      entry = one.body<api::SubmitRequest>();
      CronEntry& cron = *entry.mutable_spec()->mutable_cron();
      cron.set_spec(times[i]);
      cron.set_first_line(static_cast<uint32_t>(i) + 1);
      cron.set_last_line(static_cast<uint32_t>(i) + 1);
      if (change) change(*entry.mutable_spec(), i);
      update.mutable_text()->append(times[i]).append(" true\n");
    }
    return message;
  }
  CrontabRecord kept(uint32_t uid, uint32_t asker = kRoot) {
    rpc::RequestEnvelope message;
    message.body<api::QueryCrontabRequest>().set_uid(uid);
    return ask(asker, message).read<api::CrontabReply>().crontab();
  }
  uint32_t install(const std::vector<std::string>& times) {
    EXPECT_EQ(outcome(kAlice, crontab(kAlice, times)), 0u) << what_was_said();
    const CrontabRecord crontab = kept(kAlice);
    return crontab.job_ids().empty() ? 0 : crontab.job_ids(0);
  }
  uint32_t remove(uint32_t uid, uint32_t asker) {
    rpc::RequestEnvelope message;
    message.body<api::RemoveCrontabRequest>().set_uid(uid);
    return outcome(asker, message);
  }
};

TEST_F(CrontabTest, AJobRunsAgainAtTheNextTimeOfItsEntry) {
  const uint32_t job = install({"* * * * *"});
  EXPECT_EQ(shown(job).state(), JOB_PENDING);
  EXPECT_EQ(shown(job).eligible_time(), kFirstMinute);
  engine().pass(kFirstMinute - RequestEngine::kBeginning + 1);
  EXPECT_EQ(state(job), JOB_RUNNING);
  engine().pass(70);
  engine().end_one(0, 3 << 8);
  const JobRecord again = shown(job);
  EXPECT_EQ(again.state(), JOB_PENDING);
  EXPECT_EQ(again.reason(), WAIT_TIME);
  EXPECT_EQ(again.restarts(), 1u);
  EXPECT_EQ(again.exit_code(), 3 << 8);
  EXPECT_EQ(again.eligible_time(), kFirstMinute + 120);
  engine().pass(60);
  EXPECT_EQ(state(job), JOB_RUNNING);
}

TEST_F(CrontabTest, ANewCrontabReplacesTheJobsOfTheOneBefore) {
  const uint32_t waiting = install({"0 0 1 1 *", "* * * * *"});
  const uint32_t running = kept(kAlice).job_ids(1);
  engine().pass(60);
  ASSERT_EQ(state(running), JOB_RUNNING);
  const uint32_t fresh = install({"* * * * *"});
  EXPECT_EQ(state(waiting), JOB_CANCELLED);
  EXPECT_EQ(state(running), JOB_RUNNING);
  EXPECT_EQ(state(fresh), JOB_PENDING);
  EXPECT_EQ(kept(kAlice).disabled_size(), 0);
  engine().end_one(0, 0);
  EXPECT_EQ(state(running), JOB_COMPLETE);
  EXPECT_EQ(remove(kAlice, kAlice), 0u);
  EXPECT_EQ(state(fresh), JOB_CANCELLED);
  EXPECT_EQ(kept(kAlice).uid(), 0u);
}

TEST_F(CrontabTest, ACancelledJobRunsNeverAgainAndItsLinesAreDisabled) {
  const uint32_t first = install({"* * * * *", "* * * * *"});
  const uint32_t second = kept(kAlice).job_ids(1);
  EXPECT_EQ(outcome(kAlice, cancel(first)), 0u);
  engine().pass(60);
  ASSERT_EQ(state(second), JOB_RUNNING);
  EXPECT_EQ(outcome(kAlice, cancel(second)), 0u);
  engine().pass(60);
  EXPECT_EQ(state(first), JOB_CANCELLED);
  EXPECT_EQ(state(second), JOB_CANCELLED);
  const CrontabRecord crontab = kept(kAlice);
  EXPECT_EQ(crontab.job_ids_size(), 0);
  ASSERT_EQ(crontab.disabled_size(), 2);
  EXPECT_EQ(crontab.disabled(1).first(), 2u);
}

TEST_F(CrontabTest, NothingChangesIfAnEntryIsRefused) {
  const uint32_t old = install({"* * * * *"});
  const auto answer = ask(kAlice, crontab(kAlice, {"@daily", "@hourly"}, [](JobSpec& spec, size_t i) {
                            if (i == 1) spec.set_partition("nosuch");
                          }));
  const auto& reply = answer.read<api::ActionReply>();
  ASSERT_EQ(reply.failures_size(), 1);
  EXPECT_EQ(reply.failures(0).job(), "2-2");
  EXPECT_EQ(reply.failures(0).code(), static_cast<uint32_t>(kInvalidPartitionName));
  EXPECT_EQ(kept(kAlice).job_ids(0), old);
  EXPECT_EQ(state(old), JOB_PENDING);
  EXPECT_EQ(core().state.jobs().size(), 1u);
}

TEST_F(CrontabTest, IsItsUsersAlone) {
  const uint32_t job = install({"* * * * *"});
  EXPECT_EQ(outcome(kBob, crontab(kAlice, {"* * * * *"})), static_cast<uint32_t>(kInvalidUserId));
  EXPECT_EQ(remove(kAlice, kBob), static_cast<uint32_t>(kInvalidUserId));
  rpc::RequestEnvelope query;
  query.body<api::QueryCrontabRequest>().set_uid(kAlice);
  EXPECT_EQ(outcome(kBob, query), static_cast<uint32_t>(kInvalidUserId));
  EXPECT_EQ(kept(kAlice, kRoot).job_ids(0), job);
  EXPECT_EQ(remove(kAlice, kRoot), 0u);
  EXPECT_EQ(state(job), JOB_CANCELLED);
}

TEST_F(CrontabTest, ItsJobsAreNotChangedOneByOne) {
  const uint32_t job = install({"* * * * *"});
  rpc::RequestEnvelope hold;
  hold.body<api::HoldRequest>().add_jobs()->set_job_id(job);
  EXPECT_EQ(outcome(kAlice, hold), static_cast<uint32_t>(kCronJob));
  EXPECT_EQ(outcome(kRoot, update(job, "Nice", "5")), static_cast<uint32_t>(kCronJob));
  core().config.cancel_cron_explicitly = true;
  EXPECT_EQ(outcome(kAlice, cancel(job)), static_cast<uint32_t>(kCancelCronJob));
  rpc::RequestEnvelope explicitly = cancel(job);
  explicitly.body<api::SignalRequest>().set_cron(true);
  EXPECT_EQ(outcome(kAlice, explicitly), 0u);
  EXPECT_EQ(state(job), JOB_CANCELLED);
}

TEST_F(CrontabTest, OutlastsTheDaemon) {
  const uint32_t job = install({"* * * * *", "0 0 1 1 *"});
  const uint32_t other = kept(kAlice).job_ids(1);
  EXPECT_EQ(outcome(kAlice, cancel(other)), 0u);
  const int64_t due = shown(job).eligible_time();
  restart();
  EXPECT_EQ(kept(kAlice).job_ids_size(), 1);
  EXPECT_EQ(kept(kAlice).disabled_size(), 1);
  EXPECT_GE(shown(job).eligible_time(), due);
  engine().pass(60);
  ASSERT_EQ(state(job), JOB_RUNNING);
  engine().end_one(0, 0);
  EXPECT_EQ(state(job), JOB_PENDING);
}

TEST_F(CrontabTest, AJobThatNoCrontabHasDoesNotOutlastTheDaemon) {
  const uint32_t stray = install({"0 0 1 1 *"});
  store::Batch batch;
  batch.rows.push_back(store::kCrontabs.no_row(kAlice));
  store().commit(std::move(batch), [](const Status& done) { EXPECT_TRUE(done); });
  restart();
  EXPECT_EQ(state(stray), JOB_CANCELLED);
}

TEST_F(CrontabTest, OnlyACrontabMakesJobsThatRecur) {
  const uint32_t job = submit(kAlice, [](JobSpec& spec) { spec.mutable_cron()->set_spec("* * * * *"); });
  EXPECT_FALSE(shown(job).spec().has_cron());
  engine().end_one(0, 0);
  EXPECT_EQ(state(job), JOB_COMPLETE);
}

TEST_F(CrontabTest, IsBoundedAndItsEntriesAreBatchJobsThatAreOnceDue) {
  rpc::RequestEnvelope long_text = crontab(kAlice, {});
  long_text.body<api::UpdateCrontabRequest>().set_text(std::string(submit::kMostCrontabBytes + 1, '#'));
  EXPECT_EQ(outcome(kAlice, long_text), static_cast<uint32_t>(kPathnameTooLong));
  const std::vector<std::string> many(submit::kMostCrontabEntries + 1, "* * * * *");
  EXPECT_EQ(outcome(kAlice, crontab(kAlice, many)), static_cast<uint32_t>(kPathnameTooLong));
  for (const char* times : {"", "nonsense", "61 * * * *", "0 0 30 2 *"})
    EXPECT_EQ(outcome(kAlice, crontab(kAlice, {times})), static_cast<uint32_t>(kNotSupported)) << times;
  EXPECT_EQ(
      outcome(kAlice, crontab(kAlice, {"@daily"}, [](JobSpec& spec, size_t) { spec.set_interactive(true); })),
      static_cast<uint32_t>(kNotSupported));
  EXPECT_TRUE(core().state.jobs().empty());
}

}  // namespace
}  // namespace minke::engine::simulation
