// One simulated machine for a test: its disk, its launcher, a daemon that can be killed and comes back, and a
// user who asks one thing at a time.
//
//   OneMachine one;
//   const uint32_t job_id = one.submit("run=30");
//   one.run_for(std::chrono::seconds(5));
//   one.cut_power();
//   EXPECT_EQ(one.record(job_id).state(), model::JOB_RUNNING);
//
// One thread; one at a time, as Disk is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "engine/embedded/simulation/disk.h"
#include "engine/embedded/simulation/engine.h"
#include "engine/embedded/simulation/launcher.h"
#include "store/testing.h"

namespace minke::model {
class JobRecord;
class JobSpec;
}  // namespace minke::model

namespace minke::rpc {
class ClientMessage;
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine::simulation {

class OneMachine {
 public:
  OneMachine();  // its daemon is ready
  ~OneMachine();

  // True: the condition came about. False: nothing will happen any more, or not within an hour.
  bool run_until(const std::function<bool()>& condition);
  void run_for(std::chrono::milliseconds time);

  // Of those commits that wait the first `made` reach the disk.
  void kill_daemon(size_t made = 0);
  void kill_launcher() { host_.kill(); }
  // What was not synced is lost or kept, as `seed` has it.
  void cut_power(uint64_t seed = 1);
  void start_daemon();  // and its launcher, where there is none; ready when it returns

  // The answer that is marked as the last.
  rpc::ServerMessage ask(const rpc::ClientMessage& message);
  // The code of the error that it is answered with; 0: none.
  uint32_t outcome_of(const rpc::ClientMessage& message);
  using Change = std::function<void(model::JobSpec& spec)>;
  uint32_t submit(const std::string& program, const Change& change = nullptr);
  // A step of the job has started; nobody waits for its end.
  void run_step(uint32_t job_id, const std::string& program);

  model::JobRecord record(uint32_t job_id);
  std::vector<store::AccountedJob> accounting();

  Agenda& agenda() { return agenda_; }
  Disk& disk() { return disk_; }
  Machine& machine() { return machine_; }
  LauncherHost& host() { return host_; }
  Engine& engine() { return *engine_; }
  int64_t clock_offset = 0;  // s by which the clock is wrong
  // Of commits; a millisecond to begin with.
  Agenda::Time commit_delay{std::chrono::milliseconds(1)};

 private:
  store::testing::TemporaryDirectory home_;
  Agenda agenda_;
  const LoopsOn loops_{agenda_};
  Disk disk_{home_.path()};
  Machine machine_;
  LauncherHost host_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
  std::vector<std::unique_ptr<Client>> step_clients_;
  uint64_t keys_ = 1'000'000'000'000'000;
};

}  // namespace minke::engine::simulation
