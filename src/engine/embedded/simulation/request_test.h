// What tests of requests share: an engine of three nodes on which every user may ask, jobs that run until the
// test ends them, and a clock that only the test moves (request_engine.h).
//
//   class Holding : public RequestTest {};
//   TEST_F(Holding, AnothersJobStaysAsItIs) {
//     const uint32_t job = submit(kAlice);
//     EXPECT_EQ(outcome(kBob, hold(job)), model::kAccessDenied);
//   }
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/embedded/simulation/memory_store.h"
#include "engine/embedded/simulation/request_engine.h"
#include "model/job_record.pb.h"
#include "rpc/messages.pb.h"
#include "store/testing.h"

namespace minke::engine::simulation {

class RequestTest : public testing::Test {
 protected:
  static constexpr uint32_t kRoot = 0, kAlice = 61000, kBob = 61001;  // root is an operator, too

  // Whose processes live: allocations and steps end with who asked for them.
  static uint32_t self() { return ::geteuid(); }

  void SetUp() override { start(""); }
  // A new engine. `settings`: more of minke.toml, before its tables and after them.
  void start(std::string_view settings, std::string_view tables = "");
  // The next daemon, on what this one has stored.
  void restart();

  // All of its answers, and the last one.
  std::vector<rpc::ServerMessage> ask_all(uint32_t uid, rpc::ClientMessage message);
  rpc::ServerMessage ask(uint32_t uid, rpc::ClientMessage message);
  // The code of the error that it is answered with; 0: none. what_was_said() has its words.
  uint32_t outcome(uint32_t uid, rpc::ClientMessage message);
  const std::string& what_was_said() const { return said_; }

  using Change = std::function<void(model::JobSpec& spec)>;
  rpc::ClientMessage submission(const Change& change = nullptr);
  // The job's id; 0: it was refused.
  uint32_t submit(uint32_t uid, const Change& change = nullptr);
  static rpc::ClientMessage cancel(uint32_t job_id);
  // scontrol update job.
  static rpc::ClientMessage update(uint32_t job_id, const std::string& name, const std::string& value);

  // sacctmgr: a change of the accounts as they are, to be filled.
  rpc::ClientMessage change_of_accounts();

  // As scontrol shows it, to root.
  model::JobRecord shown(uint32_t job_id);
  model::JobState state(uint32_t job_id) { return shown(job_id).state(); }

  RequestEngine& engine() { return *engine_; }
  Core& core() { return engine_->core(); }

 private:
  void take_up(int64_t now);

  store::testing::TemporaryDirectory home_;
  config::Configuration config_;
  std::shared_ptr<MemoryStore> store_;
  std::vector<rpc::ServerMessage> answers_;
  std::string said_;
  uint32_t requests_ = 0;
  std::unique_ptr<RequestEngine> engine_;  // the last: it answers until it ends
};

}  // namespace minke::engine::simulation
