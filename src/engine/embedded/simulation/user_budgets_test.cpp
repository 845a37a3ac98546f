// Budgets: what one user may use of the daemon at a time. A user over a budget is told which one,
// and other users do not notice.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "api/steps.pb.h"
#include "api/submission.pb.h"
#include "api/triggers.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/server/budgets.h"
#include "engine/embedded/simulation/programs.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/trigger.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

class UserBudgets : public RequestTest {
 protected:
  void limit(Budget budget, uint64_t users, uint64_t operators = 1000) {
    config::BudgetLimits limits = config::default_budgets(100000);
    limits.users[static_cast<size_t>(budget)] = users;
    limits.operators[static_cast<size_t>(budget)] = operators;
    core().rights->budgets().set_limits(limits);
  }
  uint64_t used(uint32_t uid, Budget budget) { return core().rights->budgets().used(uid, budget); }

  uint32_t submit_array(uint32_t uid, uint32_t tasks) {
    return submit(uid, [=](JobSpec& spec) {
      spec.set_begin_time(int64_t{1} << 40);
      IndexRange& range = *spec.mutable_array()->add_ranges();
      range.set_last(tasks - 1);
    });
  }
  static rpc::RequestEnvelope hold(uint32_t array, uint32_t first, uint32_t last) {
    rpc::RequestEnvelope message;
    api::JobSelector& selector = *message.body<api::HoldRequest>().add_jobs();
    selector.set_job_id(array);
    IndexRange& range = *selector.add_tasks();
    range.set_first(first);
    range.set_last(last);
    return message;
  }
};

TEST_F(UserBudgets, RecordsSplitOffAnArrayAreCounted) {
  limit(Budget::kSplitRecords, 3);
  const uint32_t array = submit_array(kAlice, 100), another = submit_array(kAlice, 100);
  EXPECT_EQ(outcome(kAlice, hold(array, 1, 1)), 0u);
  EXPECT_EQ(outcome(kAlice, hold(array, 10, 19)), 0u);  // one record
  EXPECT_EQ(outcome(kAlice, hold(another, 1, 1)), 0u);
  EXPECT_EQ(used(kAlice, Budget::kSplitRecords), 3u);
  const size_t records = core().state.jobs().size();
  EXPECT_EQ(outcome(kAlice, hold(array, 30, 30)), static_cast<uint32_t>(EAGAIN));
  EXPECT_NE(what_was_said().find("budget split_records"), std::string::npos) << what_was_said();
  EXPECT_EQ(core().state.jobs().size(), records);
  EXPECT_EQ(outcome(kAlice, hold(array, 1, 1)), 0u);  // has its record already
  const uint32_t of_bob = submit_array(kBob, 10);
  EXPECT_EQ(outcome(kBob, hold(of_bob, 1, 1)), 0u);
}

TEST_F(UserBudgets, ARecordThatHasEndedCountsNoMore) {
  limit(Budget::kSplitRecords, 1);
  const uint32_t array = submit_array(kAlice, 100);
  EXPECT_EQ(outcome(kAlice, hold(array, 1, 1)), 0u);
  EXPECT_EQ(outcome(kAlice, hold(array, 2, 2)), static_cast<uint32_t>(EAGAIN));
  rpc::RequestEnvelope one = cancel(array);
  IndexRange& range = *one.body<api::SignalRequest>().mutable_filter()->mutable_jobs(0)->add_tasks();
  range.set_first(1);
  range.set_last(1);
  EXPECT_EQ(outcome(kAlice, one), 0u);
  engine().pass(1);
  EXPECT_EQ(used(kAlice, Budget::kSplitRecords), 0u);
  EXPECT_EQ(outcome(kAlice, hold(array, 2, 2)), 0u);
}

TEST_F(UserBudgets, TasksAreCancelledWhereNoRecordMayBeSplitOff) {
  limit(Budget::kSplitRecords, 1);
  const uint32_t array = submit_array(kAlice, 100);
  EXPECT_EQ(outcome(kAlice, hold(array, 1, 1)), 0u);
  EXPECT_EQ(outcome(kAlice, hold(array, 2, 2)), static_cast<uint32_t>(EAGAIN));
  rpc::RequestEnvelope some = cancel(array);
  IndexRange& range = *some.body<api::SignalRequest>().mutable_filter()->mutable_jobs(0)->add_tasks();
  range.set_first(2);
  range.set_last(9);
  EXPECT_EQ(outcome(kAlice, some), 0u) << what_was_said();
}

// Neither another change nor the next daemon loses count.
TEST_F(UserBudgets, ARecordIsCountedOnceWhateverBecomesOfIt) {
  const uint32_t array = submit_array(kAlice, 100);
  EXPECT_EQ(outcome(kAlice, hold(array, 10, 19)), 0u);
  EXPECT_EQ(outcome(kAlice, hold(array, 12, 12)), 0u);
  EXPECT_EQ(used(kAlice, Budget::kSplitRecords), 2u);
  rpc::RequestEnvelope change = update(array, "Comment", "mine");
  IndexRange& range = *change.body<api::UpdateJobRequest>().mutable_job()->add_tasks();
  range.set_first(12);
  range.set_last(12);
  EXPECT_EQ(outcome(kAlice, change), 0u) << what_was_said();
  EXPECT_EQ(used(kAlice, Budget::kSplitRecords), 2u);
  restart();
  EXPECT_EQ(used(kAlice, Budget::kSplitRecords), 2u);
  EXPECT_EQ(outcome(kAlice, cancel(array)), 0u);
  engine().pass(1);
  EXPECT_EQ(used(kAlice, Budget::kSplitRecords), 0u);
}

class StoredBytes : public UserBudgets {
 protected:
  static constexpr uint64_t kLimit = 100000;
  void SetUp() override {
    UserBudgets::SetUp();
    limit(Budget::kStoredBytes, kLimit, kLimit);
  }
  // The job's id; 0: it was refused, as what_was_said() tells.
  uint32_t submit_script(uint32_t uid, char letter) {
    rpc::RequestEnvelope message = submission([](JobSpec& spec) { spec.set_hold(true); });
    message.body<api::SubmitRequest>().set_script("#!/bin/sh\n#" + std::string(40000, letter));
    const rpc::AnswerEnvelope answer = ask(uid, message);
    said_ = rpc::error_of(answer.message()).message;
    return answer.read<api::SubmitReply>().job_id();
  }
  std::string said_;
};

// It stays in the database, whatever becomes of the job.
TEST_F(StoredBytes, AScriptIsPaidForThoughItsJobIsCancelledAtOnce) {
  for (const char letter : {'a', 'b'}) {
    const uint32_t job = submit_script(kAlice, letter);
    ASSERT_NE(job, 0u) << said_;
    EXPECT_EQ(outcome(kAlice, cancel(job)), 0u);
  }
  engine().pass(1);
  const uint32_t next = core().state.next_job_id();
  EXPECT_EQ(submit_script(kAlice, 'c'), 0u);
  EXPECT_NE(said_.find("budget stored_bytes"), std::string::npos) << said_;
  EXPECT_NE(said_.find("try again in"), std::string::npos) << said_;
  EXPECT_EQ(core().state.next_job_id(), next);
  EXPECT_NE(submit_script(kBob, 'c'), 0u) << said_;
  engine().pass(3600);
  EXPECT_NE(submit_script(kAlice, 'c'), 0u) << said_;
}

TEST_F(StoredBytes, TheSameScriptOfJobsThatWaitIsPaidForOnce) {
  for (int i = 0; i < 20; ++i) ASSERT_NE(submit_script(kAlice, 'a'), 0u) << said_;
}

TEST_F(StoredBytes, ChangesAndStepsArePaidForToo) {
  const std::string comment(1000, 'c');
  const uint32_t job = submit(kAlice, [](JobSpec& spec) { spec.set_hold(true); });
  int changes = 0;
  while (changes < 200 && outcome(kAlice, update(job, "Comment", comment)) == 0) ++changes;
  EXPECT_LT(changes, 100);
  EXPECT_NE(what_was_said().find("budget stored_bytes"), std::string::npos) << what_was_said();

  const uint32_t running = submit(self());
  ASSERT_EQ(state(running), JOB_RUNNING);
  const auto step = [&](char number) {
    rpc::RequestEnvelope message;
    api::CreateStepRequest& request = message.body<api::CreateStepRequest>();
    request.set_key(std::string(16, number));
    request.set_job_id(running);
    request.mutable_spec()->add_argv("true");
    request.mutable_spec()->set_work_dir("/tmp");
    request.mutable_spec()->set_ntasks(1);
    request.mutable_spec()->set_overlap(true);
    request.mutable_spec()->set_submit_line(std::string(60000, 's'));
    return outcome(self(), message);
  };
  EXPECT_EQ(step('1'), 0u) << what_was_said();
  EXPECT_EQ(step('2'), static_cast<uint32_t>(EAGAIN));
}

// Programs that run until the test ends them.
class HelperProcesses : public UserBudgets {
 protected:
  StandInForPrograms programs_{[this](const os::DetachedCommand&) -> Result<os::UniqueFd> {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    running_.emplace_back(ends[1]);
    return os::UniqueFd(ends[0]);
  }};
  void end_all() {
    while (!running_.empty()) {
      running_.clear();
      engine().settle();
    }
  }
  std::vector<os::UniqueFd> running_;
};

TEST_F(HelperProcesses, NoticesOfAnAllocationAreCounted) {
  limit(Budget::kHelperProcesses, 3, 3);
  const uint32_t job = submit(self(), [](JobSpec& spec) { spec.set_interactive(true); });
  ASSERT_EQ(state(job), JOB_RUNNING);
  rpc::RequestEnvelope notice;
  notice.body<api::NotifyRequest>().mutable_job()->set_job_id(job);
  notice.body<api::NotifyRequest>().set_message("hello");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(outcome(self(), notice), 0u) << what_was_said();
  EXPECT_EQ(running_.size(), 1u);  // one line after the other
  EXPECT_EQ(outcome(self(), notice), static_cast<uint32_t>(EAGAIN));
  EXPECT_NE(what_was_said().find("budget helper_processes"), std::string::npos) << what_was_said();
  end_all();
  EXPECT_EQ(used(self(), Budget::kHelperProcesses), 0u);
  EXPECT_EQ(outcome(self(), notice), 0u);
  end_all();
}

TEST_F(HelperProcesses, ProgramsOfTriggersAreCounted) {
  limit(Budget::kHelperProcesses, 2, 2);
  rpc::RequestEnvelope set;
  for (const char* program : {"/bin/a", "/bin/b", "/bin/c"}) {
    Trigger& trigger = *set.body<api::SetTriggersRequest>().add_triggers();
    trigger.set_event(TRIGGER_NODE_DRAINED);
    trigger.set_program(program);
    trigger.set_permanent(true);
  }
  ASSERT_EQ(outcome(kRoot, set), 0u) << what_was_said();
  const auto change = [&](const char* value) {
    rpc::RequestEnvelope message;
    message.body<api::UpdateNodeRequest>().set_node_list("n1");
    for (const auto& [name, text] : {std::pair{"State", value}, {"Reason", "a fan"}}) {
      api::Field& field = *message.body<api::UpdateNodeRequest>().add_fields();
      field.set_name(name);
      field.set_value(text);
    }
    ASSERT_EQ(outcome(kRoot, message), 0u) << what_was_said();
    engine().pass(1);
  };
  change("DRAIN");
  EXPECT_EQ(running_.size(), 2u);
  EXPECT_EQ(used(kRoot, Budget::kHelperProcesses), 2u);
  end_all();
  EXPECT_EQ(used(kRoot, Budget::kHelperProcesses), 0u);
  change("RESUME");
  change("DRAIN");
  EXPECT_EQ(running_.size(), 2u);
  end_all();
}

}  // namespace
}  // namespace minke::engine::simulation
