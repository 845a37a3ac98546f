#include "engine/embedded/server/answers.h"

#include <gtest/gtest.h>

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "rpc/envelope.h"
#include "rpc/messages.pb.h"
#include "submit/text_limits.h"

namespace minke::engine {
namespace {

TEST(Answers, NoStepTellsItsKey) {
  rpc::ServerMessage steps, accounting, usage, started, ended;
  steps.mutable_steps()->add_steps()->set_key("key");
  accounting.mutable_accounting()->add_jobs()->add_steps()->set_key("key");
  usage.mutable_step_usage()->add_steps()->mutable_step()->set_key("key");
  started.mutable_step()->mutable_started()->mutable_step()->set_key("key");
  ended.mutable_step()->mutable_ended()->mutable_step()->set_key("key");
  for (rpc::ServerMessage* message : {&steps, &accounting, &usage, &started, &ended}) {
    remove_secrets(*message);
    EXPECT_EQ(message->SerializeAsString().find("key"), std::string::npos);
  }
}

TEST(Answers, ManyRecordsAreSeveralMessagesAndOneAnswer) {
  rpc::ServerMessage all;
  all.mutable_priorities()->mutable_weights()->add_tres()->set_name("cpu");
  for (uint32_t id = 1; id <= 1000; ++id) all.mutable_priorities()->add_jobs()->set_job_id(id);
  const rpc::ServerMessage before = all;
  rpc::ServerMessage together;
  int parts = 0;
  bool more_to_come = true;
  send_in_parts(all, 300, [&](rpc::ServerMessage& part, bool more) {
    EXPECT_LE(part.ByteSizeLong(), 400u);
    ++parts;
    more_to_come = more;
    rpc::merge_answer(together, rpc::ServerMessage(part));
  });
  EXPECT_GT(parts, 5);
  EXPECT_FALSE(more_to_come);
  EXPECT_EQ(together.SerializeAsString(), before.SerializeAsString());
}

TEST(Answers, AShortOneIsOneMessage) {
  rpc::ServerMessage message;
  message.mutable_jobs()->set_now(7);
  int parts = 0;
  send_in_parts(message, 300, [&](rpc::ServerMessage& part, bool more) {
    ++parts;
    EXPECT_FALSE(more);
    EXPECT_EQ(part.jobs().now(), 7);
  });
  EXPECT_EQ(parts, 1);
}

TEST(Answers, TextsOfOlderRecordsAreCut) {
  rpc::ServerMessage message;
  model::JobRecord& job = *message.mutable_jobs()->add_jobs();
  job.mutable_spec()->set_name(std::string(8 << 20, 'x'));
  job.mutable_spec()->set_comment("short");
  cut_texts(message);
  EXPECT_EQ(job.spec().name().size(), submit::kMostNameBytes);
  EXPECT_EQ(job.spec().comment(), "short");
}

TEST(Answers, TheStepsOfOneJobFitAFrame) {
  rpc::ServerMessage message;
  api::AccountedJob& job = *message.mutable_accounting()->add_jobs();
  for (int i = 0; i < 100; ++i) job.add_steps()->set_submit_line(std::string(1 << 20, 'x'));
  cut_texts(message);
  EXPECT_EQ(job.steps_size(), 100);
  EXPECT_LT(message.ByteSizeLong(), size_t{16} << 20);
}

}  // namespace
}  // namespace minke::engine
