// Simulation: a cluster under random faults chosen by a seed, and the checks of what must always hold.
//
// For some virtual time, users submit jobs, arrays, allocations and steps, and cancel, hold, requeue and
// change them. Meanwhile processes are killed, the machine loses power, the disk fills, fails and is slow,
// and descriptors run out. Then the faults cease, held jobs are released, and everything must finish. What
// the users were told is compared with what the programs did and with the accounting.
//
// What must hold, by the names of findings:
//   lost          an acknowledged job, or a step that ended, is in no record
//   twice         a program ran more often than its job allowed
//   waits         something could run or end, and does not
//   outcome       a job ended differently from its program, without any user or fault as the cause
//   step-number   two steps of one run have the same number
//   over-limit    more jobs run than the node has room for, or than an account may have
//   usage         an account's usage differs from that of its jobs
//   orphan        a process or a directory outlives its job
//   answer        a valid request was refused
//
// Equal seeds and options give equal runs; digest() proves it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/submission.pb.h"
#include "engine/embedded/simulation/disk.h"
#include "engine/embedded/simulation/engine.h"
#include "engine/embedded/simulation/launcher.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::rpc {
class ClientMessage;
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine::simulation {

inline constexpr uint32_t kCpus = 8;  // of the single node

struct SimulationOptions {
  uint64_t seed = 1;
  int64_t seconds = 900;  // of virtual time with requests and faults
  bool kill_daemon = true;
  bool kill_launcher = true;
  bool cut_power = true;
  bool fail_disk = true;  // EIO
  bool fill_disk = true;  // ENOSPC
  bool no_descriptors = true;
  bool slow_disk = true;
  bool print = false;  // prints events to standard error
};

struct Finding {
  std::string kind, what;
};

class Simulation {
 public:
  // `home` must be an empty directory.
  Simulation(const std::string& home, SimulationOptions options);
  ~Simulation();
  std::vector<Finding> run();
  uint64_t digest() const { return digest_; }
  std::string summary() const;

 private:
  using Time = Agenda::Time;
  using Answer = Client::Answer;

  // What a user asked for and what they were told.
  struct Submitted {
    std::string key;
    api::SubmitRequest request;
    uint32_t job_id = 0;   // 0: not acknowledged
    bool refused = false;  // it may exist nevertheless if the disk failed
    uint32_t tasks = 1;
    uint32_t cpus = 1;
    std::string account;
    bool may_requeue = true;
    int64_t run = 0;  // run time of its program in s
    int exit_code = 0;
    bool interactive = false;
    bool touched = false;  // cancelled, requeued or suspended: it may have ended because of that
    bool leaving = false;  // cancelled or given back
    bool depends = false;
  };
  struct Step {
    std::string key;
    uint32_t job_id = 0, run = 0, step_id = 0;
    bool started = false, ended = false;
    unsigned boot = 0;  // the boot in which its start was reported
  };

  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }
  Time milliseconds(uint64_t from, uint64_t to);
  int64_t now() const;
  void say(const std::string& what);
  void find(const std::string& kind, const std::string& what);

  // simulation.cpp: the course of things
  void start_daemon();
  void daemon_later();
  void kill_daemon();
  void step();
  void run_until(Time end);
  bool drained() const;
  void let_go();
  void drain();
  void restore_order();

  // simulation_requests.cpp: users
  void schedule_requests();
  void request_something();
  // Sends it until it is answered. `again`: also if the connection was lost before the answer.
  void ask(rpc::ClientMessage message, bool again, Answer answer);
  void attempt_later(uint64_t id);
  void make_accounts();
  void submit();
  void send(const std::shared_ptr<Submitted>& job);
  void acknowledged(const std::shared_ptr<Submitted>& job, const rpc::ServerMessage& answer);
  void use_allocation(const std::shared_ptr<Submitted>& job);
  void run_steps(const std::shared_ptr<Submitted>& job, uint64_t left);
  void run_step(const std::shared_ptr<Submitted>& job, const std::string& key, std::function<void()> then);
  void act_on_some_job();
  std::shared_ptr<Submitted> some_job();

  // simulation_faults.cpp
  void schedule_faults();
  void count_event();
  void fault();
  void for_a_while(uint64_t most_seconds, std::function<void()> end);
  // The same for faults that keep changes from being stored.
  void refuse_for_a_while(uint64_t most_seconds, std::function<void()> end);
  void kill_launcher();
  void power_cut();

  // simulation_checks.cpp: what must hold
  void check_now();
  void check_limits();
  bool is_being_cleared(const Job& job) const;
  void check_acknowledged();
  void check_end();
  using Records = std::vector<store::AccountedJob>;
  using Runs = std::vector<const model::JobRecord*>;  // of one job or task, in the order of the runs
  void check_drained();
  Records all_records();
  void check_job(const Submitted& job, const Records& all);
  void check_outcome(const Submitted& job, const model::JobRecord& record);
  void check_starts(const Records& all);
  void check_runs(const Submitted& job, const std::string& name, const std::vector<Start>& starts);
  void check_steps(const Records& all);
  void check_usage(const Records& all);
  void check_directories();
  // Whether a run in that time was lost with its launcher or with the machine.
  bool lost_between(int64_t from, int64_t until) const;
  // Whether a change shortly before `time` may not have been stored.
  bool refused_before(int64_t time) const;
  const Submitted* submitted_as(uint32_t job_id) const;

  SimulationOptions options_;
  std::mt19937_64 random_;
  Agenda agenda_;
  const LoopsOn loops_{agenda_};
  Disk disk_;
  Machine machine_;
  LauncherHost host_;
  config::Configuration config_;
  std::unique_ptr<Engine> engine_;  // null while there is none
  bool daemon_is_due_ = false;
  bool faults_ = true;
  bool slow_ = false;
  bool was_ready_ = false;
  bool over_limit_ = false;
  uint64_t most_seconds_between_faults_;
  uint64_t most_events_between_faults_;
  uint64_t events_until_fault_ = 0;

  std::vector<std::shared_ptr<Submitted>> jobs_;
  std::vector<std::shared_ptr<Step>> asked_steps_;
  std::map<uint64_t, std::function<void()>> attempts_;   // requests without an answer so far
  std::map<uint64_t, std::shared_ptr<Client>> clients_;  // of the attempts that are being sent
  uint64_t next_client_ = 0;
  uint64_t next_key_ = 0;
  std::map<std::string, uint32_t> account_cpus_;  // GrpTRES=cpu of each account
  std::vector<int64_t> launcher_deaths_, boots_;  // the times
  unsigned daemon_deaths_ = 0;
  bool disk_failed_ = false;                           // with EIO, at any time
  std::vector<std::pair<int64_t, int64_t>> refusals_;  // when the disk refused some or all writes
  std::vector<Finding> findings_;
  uint64_t digest_ = 0xcbf29ce484222325;
};

}  // namespace minke::engine::simulation
