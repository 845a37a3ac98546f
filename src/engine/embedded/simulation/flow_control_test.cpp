// Long answers to a client that reads slowly or not at all: what the daemon keeps for it and does.
#include "engine/embedded/server/flow_control.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/embedded/simulation/engine.h"
#include "engine/embedded/simulation/request_engine.h"
#include "model/job_record.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {
namespace {

constexpr uint32_t kUser = 1000;
constexpr int kJobs = 1600;
constexpr size_t kPart = size_t{3} << 20;  // no piece of an answer is larger; all of it has 8 MB

// What the daemon has sent lies here until it is read.
class SlowConnection final : public rpc::Connection {
 public:
  struct Sent {
    std::vector<rpc::ServerMessage> messages;
    size_t bytes = 0;
    std::function<void()> drained;
    int turns = 0;  // that were given
    // All of it.
    void read() {
      messages.clear();
      bytes = 0;
      if (drained) drained();
    }
  };
  SlowConnection(rpc::Peer peer, std::shared_ptr<Sent> sent) : peer_(peer), sent_(std::move(sent)) {}
  const rpc::Peer& peer() const override { return peer_; }
  void send(const google::protobuf::MessageLite& message, std::vector<os::UniqueFd>) override {
    sent_->messages.push_back(static_cast<const rpc::ServerMessage&>(message));
    sent_->bytes += message.ByteSizeLong();
  }
  size_t unsent_bytes() const override { return sent_->bytes; }
  void go_on() override { ++sent_->turns; }
  void on_drained(std::function<void()> callback) override { sent_->drained = std::move(callback); }

 private:
  rpc::Peer peer_;
  std::shared_ptr<Sent> sent_;
};

class FlowControlTest : public testing::Test {
 protected:
  void SetUp() override {
    config::Configuration config = simulated_configuration(::testing::TempDir());
    config.shared = true;
    config.max_job_count = 2 * kJobs;
    engine_ = std::make_unique<RequestEngine>(
        std::move(config), std::make_shared<MemoryStore>(),
        [this](uint32_t, const rpc::ServerMessage& answer) { submitted_ += answer.has_submit(); });
    for (int i = 0; i < kJobs; ++i) {
      rpc::ClientMessage message;
      message.set_request_id(1);
      std::string key = std::to_string(i);
      key.resize(16, '.');
      *message.mutable_submit() = batch_request(key, "run=1", "/tmp");
      message.mutable_submit()->mutable_spec()->set_hold(true);
      message.mutable_submit()->mutable_spec()->set_stdout_path("/tmp/" + std::string(1500, 'o'));
      engine_->send(kUser, message.SerializeAsString());
    }
    ASSERT_EQ(submitted_, kJobs);
    rpc::Peer peer;
    peer.pid = ::getpid();
    peer.uid = peer.gid = kUser;
    engine_->server().admit(peer, [&](rpc::Connection::Callbacks callbacks) {
      callbacks_ = std::move(callbacks);
      return std::make_unique<SlowConnection>(peer, sent_);
    });
  }

  void ask(const rpc::ClientMessage& message) {
    callbacks_.on_frame(message.SerializeAsString(), {});
    engine_->settle();
  }
  static rpc::ClientMessage all_jobs() {
    rpc::ClientMessage message;
    message.set_request_id(7);
    message.mutable_query_jobs()->mutable_filter()->set_all_states(true);
    return message;
  }
  static rpc::ClientMessage record() {
    rpc::ClientMessage message;
    message.set_request_id(7);
    message.mutable_query_accounting()->mutable_filter()->set_all_states(true);
    return message;
  }

  std::unique_ptr<RequestEngine> engine_;
  std::shared_ptr<SlowConnection::Sent> sent_ = std::make_shared<SlowConnection::Sent>();
  rpc::Connection::Callbacks callbacks_;
  int submitted_ = 0;
};

TEST_F(FlowControlTest, AListIsMadeAsFastAsItIsRead) {
  ask(all_jobs());
  int jobs = 0, parts = 0;
  for (bool last = false; !last; ++parts) {
    ASSERT_LT(parts, 20);
    EXPECT_LT(sent_->bytes, kPart);
    const size_t before = sent_->messages.size();
    engine_->pass(60);
    EXPECT_EQ(sent_->messages.size(), before);  // no more until they have been read
    for (const rpc::ServerMessage& message : sent_->messages) {
      jobs += message.jobs().jobs_size();
      last |= message.last();
    }
    sent_->read();
    engine_->settle();
  }
  EXPECT_EQ(jobs, kJobs);
  EXPECT_GE(parts, 4);
}

TEST_F(FlowControlTest, TheNextRequestWaitsForTheEndOfTheAnswer) {
  ask(all_jobs());
  EXPECT_FALSE(callbacks_.may_handle());
  engine_->settle();
  EXPECT_EQ(sent_->turns, 0);
  for (int parts = 0; parts < 20 && sent_->turns == 0; ++parts) {
    sent_->read();
    engine_->settle();
  }
  EXPECT_EQ(sent_->turns, 1);
  ASSERT_FALSE(sent_->messages.empty());
  EXPECT_TRUE(sent_->messages.back().last());
}

TEST_F(FlowControlTest, TheRecordIsReadAsFastAsItsReaderReads) {
  ask(record());
  int jobs = 0;
  bool last = false;
  for (int parts = 0; !last; ++parts) {
    ASSERT_LT(parts, 50);
    for (const rpc::ServerMessage& message : sent_->messages) {
      jobs += message.accounting().jobs_size();
      last |= message.last();
    }
    sent_->read();
    engine_->settle();
  }
  EXPECT_EQ(jobs, kJobs);
}

// Many wait for one job on one connection, and its record is long: each is told when there is room.
TEST_F(FlowControlTest, ThoseWhoWaitForAJobAreToldAsFastAsTheyRead) {
  constexpr int kWaiters = 2000;
  rpc::ClientMessage wait, cancel;
  wait.set_request_id(7);
  wait.mutable_wait_job()->set_job_id(1);
  for (int i = 0; i < kWaiters; ++i) {
    callbacks_.on_frame(wait.SerializeAsString(), {});
    sent_->messages.clear();  // that it waits
    sent_->bytes = 0;
  }
  cancel.set_request_id(8);
  cancel.mutable_signal()->mutable_filter()->add_jobs()->set_job_id(1);
  engine_->send(kUser, cancel.SerializeAsString());
  int told = 0;
  for (int parts = 0; told < kWaiters; ++parts) {
    ASSERT_LT(parts, 20);
    EXPECT_LT(sent_->bytes, kPart);
    for (const rpc::ServerMessage& message : sent_->messages) {
      EXPECT_EQ(message.wait_job().job().state(), model::JOB_CANCELLED);
      EXPECT_TRUE(message.last());
    }
    told += static_cast<int>(sent_->messages.size());
    sent_->read();
    engine_->settle();
  }
  EXPECT_EQ(told, kWaiters);
}

TEST_F(FlowControlTest, WhatOneClientIsToldUnaskedDoesNotAddUpForEver) {
  bool dropped = false;
  FlowControl flow(engine_->core(), [&](ConnectedClient&) { dropped = true; });
  ConnectedClient client;
  client.peer.uid = kUser + 1;
  const auto sent = std::make_shared<SlowConnection::Sent>();
  client.connection = std::make_unique<SlowConnection>(client.peer, sent);
  sent->bytes = size_t{100} << 20;
  EXPECT_TRUE(flow.may_hold_unread(client));
  sent->bytes = size_t{1} << 30;
  EXPECT_FALSE(flow.may_hold_unread(client));
  EXPECT_TRUE(dropped);
}

// Forecasts are made one after the other, each in its user's turn, before the client's next request.
TEST_F(FlowControlTest, AnExplanationIsALongAnswer) {
  rpc::ClientMessage message;
  message.set_request_id(7);
  message.mutable_explain_job()->mutable_job()->set_job_id(1);
  callbacks_.on_frame(message.SerializeAsString(), {});
  sent_->bytes = size_t{2} << 20;  // of an earlier answer: no piece is made until it has been read
  EXPECT_FALSE(callbacks_.may_handle());
  engine_->settle();
  EXPECT_TRUE(sent_->messages.empty());
  EXPECT_EQ(sent_->turns, 0);
  sent_->read();
  engine_->settle();
  ASSERT_EQ(sent_->messages.size(), 1u);
  EXPECT_TRUE(sent_->messages[0].has_explanation());
  EXPECT_EQ(sent_->turns, 1);
}

// A machine may have very many processes.
TEST_F(FlowControlTest, ProcessesAndWhatTheyUseAreLongAnswers) {
  rpc::ClientMessage processes, usage;
  processes.mutable_query_pids();
  usage.mutable_query_step_usage();
  for (rpc::ClientMessage* message : {&processes, &usage}) {
    message->set_request_id(7);
    sent_->messages.clear();
    callbacks_.on_frame(message->SerializeAsString(), {});
    EXPECT_TRUE(sent_->messages.empty());
    EXPECT_FALSE(callbacks_.may_handle());
    sent_->read();
    engine_->settle();
    ASSERT_EQ(sent_->messages.size(), 1u);
    EXPECT_TRUE(sent_->messages[0].has_pids() || sent_->messages[0].has_step_usage());
    EXPECT_TRUE(sent_->messages[0].last());
  }
}

TEST_F(FlowControlTest, WhoGoesAwayIsToldNoMore) {
  ask(all_jobs());
  EXPECT_EQ(sent_->messages.size(), 1u);
  callbacks_.on_close({});
  engine_->settle();
  EXPECT_EQ(sent_->messages.size(), 1u);
}

}  // namespace
}  // namespace minke::engine::simulation
