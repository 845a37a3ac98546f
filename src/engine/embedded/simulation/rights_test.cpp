// Rights: every kind of request by a job's owner, by another user, by operators and by administrators.
#include "engine/embedded/accounts/rights.h"

#include <map>
#include <set>

#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/error.h"
#include "model/trigger.pb.h"
#include "rpc/envelope.h"
#include "rpc/messages.pb.h"
#include "rpc/schema.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using Message = rpc::ClientMessage;

constexpr uint32_t kOperator = 61002, kAdministrator = 61003;  // as sacctmgr says
constexpr uint32_t kDone = 0;

// Alice's jobs that a request may be about.
struct Jobs {
  uint32_t running = 0, ended = 0;
};

constexpr uint32_t kOwner = 61000;  // Alice

struct Row {
  RequestKind kind;
  uint32_t owner, stranger;
  uint32_t unseen;  // a stranger's answer where he may not know of others' jobs
  uint32_t operators, administrators;
  void (*fill)(Message& message, const Jobs& jobs);
};

void set(google::protobuf::RepeatedPtrField<api::Field>& fields, const char* name, const char* value) {
  api::Field& field = *fields.Add();
  field.set_name(name);
  field.set_value(value);
}

constexpr Row for_all(RequestKind kind, void (*fill)(Message&, const Jobs&)) {
  return {kind, kDone, kDone, kDone, kDone, kDone, fill};
}
constexpr Row for_owners(RequestKind kind, void (*fill)(Message&, const Jobs&)) {
  return {kind, kDone, kAccessDenied, kInvalidJobId, kDone, kDone, fill};
}
constexpr Row for_operators(RequestKind kind, void (*fill)(Message&, const Jobs&)) {
  return {kind, kAccessDenied, kAccessDenied, kAccessDenied, kDone, kDone, fill};
}
constexpr Row for_administrators(RequestKind kind, void (*fill)(Message&, const Jobs&)) {
  return {kind, kAccessDenied, kAccessDenied, kAccessDenied, kAccessDenied, kDone, fill};
}

// In the order of rpc::ClientMessage's fields. What is to be filled in is that without which a request fails.
const Row kTable[] = {
    for_all(Message::kSubmit, nullptr),
    {Message::kWaitJob, kDone, kDone, kInvalidJobId, kDone, kDone,
     [](Message& m, const Jobs& jobs) { m.mutable_wait_job()->set_job_id(jobs.running); }},
    // Steps run as the job's owner: nobody but root may start one for him.
    {Message::kCreateStep, kDone, kAccessDenied, kInvalidJobId, kAccessDenied, kAccessDenied,
     [](Message& m, const Jobs& jobs) {
       m.mutable_create_step()->set_job_id(jobs.running);
       m.mutable_create_step()->set_key("0123456789abcdef");
       m.mutable_create_step()->mutable_spec()->add_argv("true");
       m.mutable_create_step()->mutable_spec()->set_work_dir("/tmp");
       m.mutable_create_step()->mutable_spec()->set_overlap(true);
     }},
    for_owners(Message::kSignal,
               [](Message& m, const Jobs& jobs) {
                 m.mutable_signal()->mutable_filter()->add_jobs()->set_job_id(jobs.running);
               }),
    for_owners(Message::kHold,
               [](Message& m, const Jobs& jobs) { m.mutable_hold()->add_jobs()->set_job_id(jobs.running); }),
    for_owners(
        Message::kRequeue,
        [](Message& m, const Jobs& jobs) { m.mutable_requeue()->add_jobs()->set_job_id(jobs.running); }),
    for_owners(Message::kUpdateJob,
               [](Message& m, const Jobs& jobs) {
                 m.mutable_update_job()->mutable_job()->set_job_id(jobs.running);
                 set(*m.mutable_update_job()->mutable_fields(), "Comment", "mine");
               }),
    for_operators(Message::kUpdateNode,
                  [](Message& m, const Jobs&) {
                    m.mutable_update_node()->set_node_list("n3");
                    set(*m.mutable_update_node()->mutable_fields(), "Comment", "new fan");
                  }),
    for_operators(Message::kUpdatePartition,
                  [](Message& m, const Jobs&) {
                    m.mutable_update_partition()->set_name("short");
                    set(*m.mutable_update_partition()->mutable_fields(), "State", "DOWN");
                  }),
    for_all(Message::kQueryJobs, [](Message& m, const Jobs&) { m.mutable_query_jobs(); }),
    for_all(Message::kQuerySteps, [](Message& m, const Jobs&) { m.mutable_query_steps(); }),
    for_owners(Message::kQueryScript,
               [](Message& m, const Jobs& jobs) { m.mutable_query_script()->set_job_id(jobs.running); }),
    for_all(Message::kQueryAccounting, [](Message& m, const Jobs&) { m.mutable_query_accounting(); }),
    for_all(Message::kQueryNodes, [](Message& m, const Jobs&) { m.mutable_query_nodes(); }),
    for_all(Message::kQueryPartitions, [](Message& m, const Jobs&) { m.mutable_query_partitions(); }),
    for_all(Message::kQueryConfig, [](Message& m, const Jobs&) { m.mutable_query_config(); }),
    for_all(Message::kStatus, [](Message& m, const Jobs&) { m.mutable_status(); }),
    for_administrators(Message::kShutdown, [](Message& m, const Jobs&) { m.mutable_shutdown(); }),
    for_administrators(Message::kReconfigure, [](Message& m, const Jobs&) { m.mutable_reconfigure(); }),
    {Message::kCompleteAllocation, kBatchOnly, kAccessDenied, kInvalidJobId, kBatchOnly, kBatchOnly,
     [](Message& m, const Jobs& jobs) { m.mutable_complete_allocation()->set_job_id(jobs.running); }},
    {Message::kSuspend, kAccessDenied, kAccessDenied, kInvalidJobId, kDone, kDone,
     [](Message& m, const Jobs& jobs) { m.mutable_suspend()->add_jobs()->set_job_id(jobs.running); }},
    {Message::kTop, kJobNotPending, kAccessDenied, kInvalidJobId, kJobNotPending, kJobNotPending,
     [](Message& m, const Jobs& jobs) { m.mutable_top()->add_jobs()->set_job_id(jobs.running); }},
    for_owners(
        Message::kNotify,
        [](Message& m, const Jobs& jobs) { m.mutable_notify()->mutable_job()->set_job_id(jobs.running); }),
    for_all(Message::kQueryPids, [](Message& m, const Jobs&) { m.mutable_query_pids(); }),
    for_all(Message::kQueryLicenses, [](Message& m, const Jobs&) { m.mutable_query_licenses(); }),
    {Message::kAttachStep, kInvalidJobId, kAccessDenied, kInvalidJobId, kInvalidJobId, kInvalidJobId,
     [](Message& m, const Jobs& jobs) { m.mutable_attach_step()->set_job_id(jobs.running); }},
    for_all(Message::kQueryStepUsage, [](Message& m, const Jobs&) { m.mutable_query_step_usage(); }),
    for_operators(Message::kQueryDiagnostics,
                  [](Message& m, const Jobs&) { m.mutable_query_diagnostics()->set_reset(true); }),
    {Message::kExplainJob, kDone, kDone, kInvalidJobId, kDone, kDone,
     [](Message& m, const Jobs& jobs) { m.mutable_explain_job()->mutable_job()->set_job_id(jobs.running); }},
    for_operators(
        Message::kUpdateReservation,
        [](Message& m, const Jobs&) {
          m.mutable_update_reservation()->set_change(api::CREATE);
          m.mutable_update_reservation()->set_name("ours");
          for (const auto& [name, value] : {std::pair{"Nodes", "n3"}, {"Users", "root"}, {"Duration", "60"}})
            set(*m.mutable_update_reservation()->mutable_fields(), name, value);
        }),
    for_all(Message::kQueryReservations, [](Message& m, const Jobs&) { m.mutable_query_reservations(); }),
    for_all(Message::kQueryAccounts, [](Message& m, const Jobs&) { m.mutable_query_accounts(); }),
    for_operators(Message::kUpdateAccounts, nullptr),
    for_all(Message::kQueryPriorities, [](Message& m, const Jobs&) { m.mutable_query_priorities(); }),
    {Message::kUpdateRecords, kDone, kAccessDenied, kDone, kDone, kDone,  // unseen: none is changed
     [](Message& m, const Jobs& jobs) {
       m.mutable_update_records()->add_jobs()->set_job_id(jobs.ended);
       set(*m.mutable_update_records()->mutable_fields(), "comment", "mine");
     }},
    for_owners(Message::kKeepMetrics,
               [](Message& m, const Jobs& jobs) { m.mutable_keep_metrics()->set_job_id(jobs.ended); }),
    for_all(Message::kQueryMeasurements, [](Message& m, const Jobs&) { m.mutable_query_measurements(); }),
    for_operators(Message::kSetTriggers,
                  [](Message& m, const Jobs&) {
                    Trigger& trigger = *m.mutable_set_triggers()->add_triggers();
                    trigger.set_event(TRIGGER_NODE_DOWN);
                    trigger.set_program("/bin/page");
                  }),
    for_operators(Message::kClearTriggers,
                  [](Message& m, const Jobs&) { m.mutable_clear_triggers()->set_id(1); }),
    for_all(Message::kQueryTriggers, [](Message& m, const Jobs&) { m.mutable_query_triggers(); }),
    for_all(Message::kRequestSoftware,
            [](Message& m, const Jobs&) { m.mutable_request_software()->set_package("polars"); }),
    for_operators(Message::kAnswerSoftware,
                  [](Message& m, const Jobs&) { m.mutable_answer_software()->set_id(1); }),
    for_all(Message::kQuerySoftware, [](Message& m, const Jobs&) { m.mutable_query_software(); }),
    for_all(Message::kQueryHistory, [](Message& m, const Jobs&) { m.mutable_query_history(); }),
    {Message::kQueryCrontab, kDone, kInvalidUserId, kInvalidUserId, kDone, kDone,
     [](Message& m, const Jobs&) { m.mutable_query_crontab()->set_uid(kOwner); }},
    // This machine does not know the owner, as whom the jobs would run.
    {Message::kUpdateCrontab, kDone, kInvalidUserId, kInvalidUserId, kInvalidUserId, kInvalidUserId,
     [](Message& m, const Jobs&) { m.mutable_update_crontab()->set_uid(kOwner); }},
    {Message::kRemoveCrontab, kDone, kInvalidUserId, kInvalidUserId, kInvalidUserId, kDone,
     [](Message& m, const Jobs&) { m.mutable_remove_crontab()->set_uid(kOwner); }},
};

class RightsTest : public RequestTest {
 protected:
  // A cluster with two jobs of Alice's, an operator, an administrator, and a trigger of root's.
  Jobs begin(std::string_view settings = "") {
    start(settings);
    Message levels = change_of_accounts().message();
    for (const auto& [uid, level] :
         {std::pair{kOperator, ADMIN_OPERATOR}, {kAdministrator, ADMIN_ADMINISTRATOR}}) {
      UserRecord& user = *levels.mutable_update_accounts()->add_users();
      user.set_name(std::to_string(uid));
      user.set_admin_level(level);
    }
    EXPECT_EQ(outcome(kRoot, levels), kDone) << what_was_said();
    Jobs jobs;
    jobs.ended = submit(kAlice);
    engine().end_one(0, 0);
    jobs.running = submit(kAlice);
    EXPECT_EQ(state(jobs.running), JOB_RUNNING);
    Message trigger;
    trigger.mutable_set_triggers()->add_triggers()->set_event(TRIGGER_NODE_UP);
    trigger.mutable_set_triggers()->mutable_triggers(0)->set_program("/bin/page");
    EXPECT_EQ(outcome(kRoot, trigger), kDone) << what_was_said();
    Message software;
    software.mutable_request_software()->set_package("duckdb");
    EXPECT_EQ(outcome(kAlice, software), kDone) << what_was_said();
    return jobs;
  }
  Message request(const Row& row, const Jobs& jobs) {
    if (row.kind == Message::kSubmit) return submission().message();
    if (row.kind == Message::kUpdateAccounts) return change_of_accounts().message();
    Message message;
    row.fill(message, jobs);
    EXPECT_EQ(message.body_case(), row.kind);
    return message;
  }
};

TEST_F(RightsTest, OfEveryKindOfRequest) {
  for (const Row& row : kTable) {
    SCOPED_TRACE("request " + std::to_string(row.kind));
    const std::pair<uint32_t, uint32_t> answers[] = {{kAlice, row.owner},
                                                     {kBob, row.stranger},
                                                     {kOperator, row.operators},
                                                     {kAdministrator, row.administrators}};
    for (const auto& [uid, answer] : answers) {
      const Jobs jobs = begin();
      const std::string before = shown(jobs.running).SerializeAsString();
      EXPECT_EQ(outcome(uid, request(row, jobs)), answer) << "user " << uid << ": " << what_was_said();
      if (answer == kAccessDenied) {
        EXPECT_EQ(shown(jobs.running).SerializeAsString(), before) << "user " << uid;
      }
    }
    const Jobs jobs = begin("private_jobs = true\n");
    const std::string before = shown(jobs.running).SerializeAsString();
    EXPECT_EQ(outcome(kBob, request(row, jobs)), row.unseen) << what_was_said();
    EXPECT_EQ(shown(jobs.running).SerializeAsString(), before);
  }
}

TEST_F(RightsTest, NoKindOfRequestIsLeftOutOfTheTable) {
  std::set<uint32_t> known, all;
  for (const Row& row : kTable) known.insert(row.kind);
  const rpc::Schema& schema = rpc::Schema::of_program();
  const auto& fields = schema.fields(schema.index_of("minke.rpc.ClientMessage"));
  for (uint32_t number = 2; number < fields.size(); ++number) {
    const bool is_kind =
        number != rpc::ClientMessage::kFirstSentFieldNumber && number != rpc::ClientMessage::kKeyFieldNumber;
    if (fields[number].type != 0 && is_kind) all.insert(number);
  }
  EXPECT_EQ(known, all);
}

TEST_F(RightsTest, PrivateJobsAreInNoListOfOthers) {
  const Jobs jobs = begin("private_jobs = true\n");
  Message list, record;
  list.mutable_query_jobs()->mutable_filter()->set_all_states(true);
  record.mutable_query_accounting();
  const std::map<uint32_t, int> seen = {{kAlice, 1}, {kBob, 0}, {kOperator, 1}, {kRoot, 1}};
  for (const auto& [uid, count] : seen) {
    int shown = 0, runs = 0;
    for (const rpc::AnswerEnvelope& part : ask_all(uid, list))
      shown += part.read<api::JobsReply>().jobs_size();
    EXPECT_EQ(shown, 2 * count) << uid;
    for (const rpc::AnswerEnvelope& part : ask_all(uid, record))
      runs += part.read<api::AccountingReply>().jobs_size();
    EXPECT_EQ(runs, 2 * count) << uid;
  }
  EXPECT_EQ(outcome(kBob, cancel(jobs.running)), static_cast<uint32_t>(kInvalidJobId));
  EXPECT_EQ(outcome(kBob, cancel(jobs.running + 100)), static_cast<uint32_t>(kInvalidJobId));
}

TEST_F(RightsTest, WhatAnOperatorHoldsHeReleases) {
  const uint32_t job = submit(kAlice, [](JobSpec& spec) { spec.set_begin_time(int64_t{1} << 40); });
  Message hold, release;
  hold.mutable_hold()->add_jobs()->set_job_id(job);
  release = hold;
  release.mutable_hold()->set_kind(api::HoldRequest::RELEASE);
  EXPECT_EQ(outcome(kAlice, hold), kDone);  // her own hold is hers to end
  EXPECT_EQ(outcome(kAlice, release), kDone) << what_was_said();
  EXPECT_EQ(outcome(kRoot, hold), kDone);
  EXPECT_EQ(outcome(kAlice, release), static_cast<uint32_t>(kAccessDenied));
  EXPECT_EQ(shown(job).priority(), 0u);
  EXPECT_EQ(outcome(kRoot, release), kDone);
  EXPECT_NE(shown(job).priority(), 0u);
}

TEST_F(RightsTest, AnAdminLevelIsGivenAndTakenByAdministrators) {
  begin();
  const auto level = [&](uint32_t uid, AdminLevel value) {
    Message change = change_of_accounts().message();
    UserRecord& user = *change.mutable_update_accounts()->add_users();
    user.set_name(std::to_string(uid));
    user.set_admin_level(value);
    return change;
  };
  const auto removal = [&](uint32_t uid) {
    Message change = change_of_accounts().message();
    change.mutable_update_accounts()->add_removed_users(std::to_string(uid));
    return change;
  };
  const auto denied = static_cast<uint32_t>(kAccessDenied);
  EXPECT_EQ(outcome(kOperator, level(kOperator, ADMIN_ADMINISTRATOR)), denied);
  EXPECT_EQ(outcome(kOperator, level(kBob, ADMIN_OPERATOR)), denied);
  EXPECT_EQ(outcome(kOperator, level(kAdministrator, ADMIN_NONE)), denied);
  EXPECT_EQ(outcome(kOperator, removal(kAdministrator)), denied);  // which would take it, too
  EXPECT_TRUE(core().rights->is_administrator(kAdministrator));
  EXPECT_EQ(outcome(kOperator, level(kBob, ADMIN_NONE)), kDone) << what_was_said();
  EXPECT_EQ(outcome(kOperator, removal(kBob)), kDone) << what_was_said();
  EXPECT_EQ(outcome(kAdministrator, level(kBob, ADMIN_OPERATOR)), kDone) << what_was_said();
  EXPECT_TRUE(core().rights->is_operator(kBob));
  EXPECT_FALSE(core().rights->is_administrator(kBob));
  EXPECT_EQ(outcome(kAdministrator, removal(kBob)), kDone) << what_was_said();
  EXPECT_FALSE(core().rights->is_operator(kBob));
}

// The table of dispatch.cpp: none is left out.
TEST_F(RightsTest, EveryKindOfRequestIsAnswered) {
  const rpc::Schema& schema = rpc::Schema::of_program();
  const auto& fields = schema.fields(schema.index_of("minke.rpc.ClientMessage"));
  constexpr uint8_t kMessage = 11;  // what is none, as when it was sent first, is no kind
  int kinds = 0;
  for (size_t number = 2; number < fields.size(); ++number) {
    if (fields[number].type != kMessage) continue;
    ++kinds;
    Message message;
    const uint32_t tag = static_cast<uint32_t>(number) << 3 | 2;
    std::string bytes;
    for (uint32_t left = tag; bytes.empty() || left != 0; left >>= 7)
      bytes += static_cast<char>((left & 0x7f) | (left >> 7 != 0 ? 0x80 : 0));
    bytes += '\0';
    ASSERT_TRUE(message.ParseFromString(bytes));
    ASSERT_NE(message.body_case(), Message::BODY_NOT_SET) << number;
    const auto answers = ask_all(kRoot, message);
    ASSERT_FALSE(answers.empty()) << number;
    for (const rpc::AnswerEnvelope& answer : answers)
      EXPECT_EQ(rpc::error_of(answer.message()).message.find("does not know"), std::string::npos) << number;
  }
  EXPECT_GE(kinds, 40);
  EXPECT_EQ(outcome(kRoot, Message()), static_cast<uint32_t>(kInternal));
}

}  // namespace
}  // namespace minke::engine::simulation
