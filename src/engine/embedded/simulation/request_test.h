// RequestTest: a base for tests of requests: an engine of three nodes that every user may use, jobs that run
// until the test ends them, and a clock that only the test moves (request_engine.h).
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
#include "rpc/envelope.h"
#include "store/testing.h"

namespace minke::engine::simulation {

class RequestTest : public testing::Test {
 protected:
  static constexpr uint32_t kRoot = 0, kAlice = 61000, kBob = 61001;  // root is an operator

  // The uid whose processes are alive: allocations and steps end with the process that asked for them.
  static uint32_t self() { return ::geteuid(); }

  void SetUp() override { start(""); }
  // Starts a new engine. `settings`: lines of minke.toml before its tables; `tables`: lines after them.
  void start(std::string_view settings, std::string_view tables = "");
  // Starts the next daemon on what this one has stored.
  void restart();

  // Returns all messages of the answer, or the last one.
  std::vector<rpc::AnswerEnvelope> ask_all(uint32_t uid, rpc::RequestEnvelope message);
  rpc::AnswerEnvelope ask(uint32_t uid, rpc::RequestEnvelope message);
  // The code of the error in the answer; 0: none. what_was_said() has its text.
  uint32_t outcome(uint32_t uid, rpc::RequestEnvelope message);
  const std::string& what_was_said() const { return said_; }

  using Change = std::function<void(model::JobSpec& spec)>;
  rpc::RequestEnvelope submission(const Change& change = nullptr);
  // Returns the job's id; 0: it was refused.
  uint32_t submit(uint32_t uid, const Change& change = nullptr);
  static rpc::RequestEnvelope cancel(uint32_t job_id);
  // Like scontrol update job.
  static rpc::RequestEnvelope update(uint32_t job_id, const std::string& name, const std::string& value);

  // For sacctmgr: a change of the current accounts, to be filled in.
  rpc::RequestEnvelope change_of_accounts();

  // The job as scontrol shows it to root.
  model::JobRecord shown(uint32_t job_id);
  model::JobState state(uint32_t job_id) { return shown(job_id).state(); }

  RequestEngine& engine() { return *engine_; }
  Core& core() { return engine_->core(); }
  MemoryStore& store() { return *store_; }

 private:
  void take_up(int64_t now);

  store::testing::TemporaryDirectory home_;
  config::Configuration config_;
  std::shared_ptr<MemoryStore> store_;
  std::vector<rpc::AnswerEnvelope> answers_;
  std::string said_;
  uint32_t requests_ = 0;
  std::unique_ptr<RequestEngine> engine_;  // the last member: it answers until its end
};

}  // namespace minke::engine::simulation
