// OneMachine: a simulated machine for a test: a disk, a launcher, a daemon that can be killed and restarted,
// and a client that sends one request at a time.
//
//   OneMachine one;
//   const uint32_t job_id = one.submit("run=30");
//   one.run_for(std::chrono::seconds(5));
//   one.hold_commits();
//   one.send(cancel(job_id));  // job_requests.h
//   one.run_for(std::chrono::seconds(5));
//   one.restart_daemon();
//   EXPECT_EQ(one.record(job_id).state(), model::JOB_RUNNING);
//
// One thread. Only one at a time may exist, because of Disk.
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

  // True: the condition came about. False: nothing more can happen, or it did not within an hour.
  bool run_until(const std::function<bool()>& condition);
  void run_for(std::chrono::milliseconds time);

  // Of the waiting commits, the first `made` reach the disk.
  void kill_daemon(size_t made = 0);
  void kill_launcher() { host_.kill(); }
  // `seed` decides which unsynced changes are lost.
  void cut_power(uint64_t seed = 1);
  void start_daemon();  // and its launcher if there is none; returns when it is ready
  // From here on what is committed waits, until the daemon is killed.
  void hold_commits() { commit_delay = std::chrono::hours(2); }
  enum class Held { kLost, kStored };
  // Kills the daemon and starts the next one. What was held, or under way, is lost, or has reached the disk.
  void restart_daemon(Held held = Held::kLost);

  // Returns the message that is marked as the last.
  rpc::ServerMessage ask(const rpc::ClientMessage& message);
  // The code of the error in the answer; 0: none.
  uint32_t outcome_of(const rpc::ClientMessage& message);
  // Nobody waits for the answer.
  void send(const rpc::ClientMessage& message);
  using Change = std::function<void(model::JobSpec& spec)>;
  uint32_t submit(const std::string& program, const Change& change = nullptr);
  // Starts a step of the job; nobody waits for its end.
  void run_step(uint32_t job_id, const std::string& program);

  model::JobRecord record(uint32_t job_id);
  std::vector<store::AccountedJob> accounting();

  Agenda& agenda() { return agenda_; }
  Disk& disk() { return disk_; }
  Machine& machine() { return machine_; }
  LauncherHost& host() { return host_; }
  Engine& engine() { return *engine_; }
  int64_t clock_offset = 0;  // s by which the clock is wrong
  // Duration of commits; a millisecond at first.
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
  std::vector<std::unique_ptr<Client>> other_clients_;
  uint64_t keys_ = 1'000'000'000'000'000;
};

}  // namespace minke::engine::simulation
