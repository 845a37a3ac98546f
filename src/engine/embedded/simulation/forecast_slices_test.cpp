// Forecasts of long queues: while one user's are made, others have their turns; and what happens between.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/daemon.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/simulation/engine.h"
#include "engine/embedded/simulation/request_engine.h"
#include "model/job_record.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {
namespace {

constexpr uint32_t kAsker = 1000;
constexpr uint32_t kCpus = 8;
constexpr int kJobs = 300;        // one after the other: so many passes
constexpr int kFewSlices = 5;     // of fifty passes at most
constexpr int kManyTurns = 2000;  // while others wait for what comes after a burst

// A client who asks, and has read what it was sent at once.
class Asker final : public rpc::Connection {
 public:
  struct Seen {
    std::vector<rpc::ServerMessage> messages;
    std::function<void()> on_turn;
    bool answered() const { return !messages.empty() && messages.back().last(); }
  };
  Asker(rpc::Peer peer, std::shared_ptr<Seen> seen) : peer_(peer), seen_(std::move(seen)) {}
  const rpc::Peer& peer() const override { return peer_; }
  void send(const google::protobuf::MessageLite& message, std::vector<os::UniqueFd>) override {
    seen_->messages.push_back(static_cast<const rpc::ServerMessage&>(message));
  }
  size_t unsent_bytes() const override { return 0; }
  void go_on() override {
    if (seen_->on_turn) seen_->on_turn();
  }
  void on_drained(std::function<void()>) override {}

 private:
  rpc::Peer peer_;
  std::shared_ptr<Seen> seen_;
};

struct Client {
  std::shared_ptr<Asker::Seen> seen = std::make_shared<Asker::Seen>();
  rpc::Connection::Callbacks callbacks;
  void ask(const rpc::ClientMessage& message) { callbacks.on_frame(message.SerializeAsString(), {}); }
};

class ForecastSlicesTest : public testing::Test {
 protected:
  void SetUp() override {
    config::Configuration config = simulated_configuration(::testing::TempDir(), kCpus);
    config.shared = true;
    engine_ = std::make_unique<RequestEngine>(std::move(config), std::make_shared<MemoryStore>(),
                                              [](uint32_t, const rpc::ServerMessage&) {});
    for (int i = 0; i < kJobs; ++i) engine_->send(kAsker, submission(i).SerializeAsString());
    ASSERT_GT(engine_->core().scheduling->queued(), static_cast<size_t>(kJobs / 2));
  }

  static rpc::ClientMessage submission(int number) {
    rpc::ClientMessage message;
    message.set_request_id(1);
    std::string key = std::to_string(number);
    key.resize(16, '.');
    *message.mutable_submit() = batch_request(key, "run=1000000", "/tmp");
    message.mutable_submit()->mutable_spec()->set_cpus_per_task(kCpus);
    message.mutable_submit()->mutable_spec()->set_time_limit_minutes(100 + static_cast<uint32_t>(number));
    return message;
  }
  static rpc::ClientMessage test_only() {
    rpc::ClientMessage message = submission(kJobs);
    message.mutable_submit()->set_test_only(true);
    return message;
  }
  static rpc::ClientMessage why() {
    rpc::ClientMessage message;
    message.set_request_id(1);
    message.mutable_explain_job()->mutable_job()->set_job_id(kJobs);
    return message;
  }
  static rpc::ClientMessage starts() {
    rpc::ClientMessage message;
    message.set_request_id(1);
    message.mutable_query_jobs()->set_with_start_forecast(true);
    return message;
  }

  Client connect(uint32_t uid) {
    Client client;
    rpc::Peer peer;
    peer.pid = ::getpid();
    peer.uid = peer.gid = uid;
    engine_->server().admit(peer, [&](rpc::Connection::Callbacks callbacks) {
      client.callbacks = std::move(callbacks);
      return std::make_unique<Asker>(peer, client.seen);
    });
    return client;
  }
  // Asks for a turn again and again until `asker` has the answer; `each` is done in each turn. One user's
  // work is done in order, so that there is one turn between two slices.
  int turns_until_answered(const Client& asker, const std::function<void(int turn)>& each = {}) {
    const Client other = connect(kAsker);
    int turns = 0;
    other.seen->on_turn = [&] {
      EXPECT_TRUE(other.callbacks.may_handle());
      if (asker.seen->answered() || turns == kManyTurns) return;
      ++turns;
      if (each) each(turns);
      other.callbacks.may_handle();
    };
    other.callbacks.may_handle();
    engine_->settle();
    other.seen->on_turn = nullptr;
    return turns;
  }
  uint64_t under_way() const {
    return engine_->core().rights->budgets().used(kAsker, config::Budget::kForecasts);
  }

  std::unique_ptr<RequestEngine> engine_;
};

TEST_F(ForecastSlicesTest, HasTurnsOfOthersInBetween) {
  // What `why` has made of the whole queue would be the next one's, too.
  for (const rpc::ClientMessage& message : {starts(), test_only(), why()}) {
    SCOPED_TRACE(message.body_case());
    Client asker = connect(kAsker);
    asker.ask(message);
    EXPECT_GE(turns_until_answered(asker), kFewSlices);
    ASSERT_TRUE(asker.seen->answered());
    EXPECT_FALSE(asker.seen->messages.back().has_error()) << asker.seen->messages.back().error().message();
    EXPECT_EQ(under_way(), 0u);
  }
}

TEST_F(ForecastSlicesTest, WhoGoesAwayFreesHisForecast) {
  for (const rpc::ClientMessage& message : {test_only(), why(), starts()}) {
    Client asker = connect(kAsker);
    asker.ask(message);
    const Client watcher = connect(kAsker);
    int turns = 0;
    uint64_t before = 0;
    watcher.seen->on_turn = [&] {
      EXPECT_TRUE(watcher.callbacks.may_handle());
      if (++turns == 2) {
        before = under_way();
        asker.callbacks.on_close({});
      }
      if (turns < 3) watcher.callbacks.may_handle();
    };
    watcher.callbacks.may_handle();
    engine_->settle();
    EXPECT_EQ(turns, 3);
    EXPECT_EQ(before, 1u);
    EXPECT_EQ(under_way(), 0u);
    EXPECT_TRUE(asker.seen->messages.empty());
  }
}

// Those beyond the budget wait, also for those who go away.
TEST_F(ForecastSlicesTest, FewOfAUserAreUnderWay) {
  std::vector<Client> askers;
  for (int i = 0; i < 7; ++i) {
    askers.push_back(connect(kAsker));
    askers.back().ask(i % 2 == 0 ? test_only() : why());
  }
  const uint64_t most = engine_->core().rights->budgets().limit(kAsker, config::Budget::kForecasts);
  EXPECT_LT(most, askers.size());
  turns_until_answered(askers.back(), [&](int turn) {
    EXPECT_LE(under_way(), most);
    if (turn == 2) askers[0].callbacks.on_close({});
    if (turn == 3) askers[5].callbacks.on_close({});
  });
  for (size_t i = 0; i < askers.size(); ++i)
    EXPECT_EQ(askers[i].seen->answered(), i != 0 && i != 5) << i << " " << askers[i].seen->messages.size();
  EXPECT_EQ(under_way(), 0u);
}

// Nodes are numbered anew, accounts are counted anew, jobs go and come: each is told something that holds.
TEST_F(ForecastSlicesTest, TheClusterMayBecomeAnother) {
  for (const rpc::ClientMessage& message : {test_only(), why(), starts()}) {
    Client asker = connect(kAsker);
    asker.ask(message);
    turns_until_answered(asker, [&](int turn) {
      if (turn % 3 == 0) engine_->core().scheduling->layout_changed();
      if (turn % 3 == 1) engine_->core().accounts->policy_changed();
      if (turn % 3 != 2) return;
      rpc::ClientMessage cancel;
      cancel.set_request_id(2);
      cancel.mutable_signal()->mutable_filter()->add_jobs()->set_job_id(static_cast<uint32_t>(100 + turn));
      Client user = connect(kAsker);
      user.ask(cancel);
    });
    ASSERT_TRUE(asker.seen->answered());
    EXPECT_FALSE(asker.seen->messages.back().has_error());
  }
}

}  // namespace
}  // namespace minke::engine::simulation
