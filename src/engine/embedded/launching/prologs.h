// The administrator's programs before and after jobs: PrologSlurmctld and Prolog hold back a job's start
// (Prolog alone that of its script, or of a step on nodes that have had none), Epilog and EpilogSlurmctld its
// end.
//
// Invariants: none runs before the job's start is durable, so a job whose Prolog has begun is known to have
// nodes, and its Epilog is not forgotten. What is done is durable before what follows from it is: a daemon
// that was killed runs again what had not succeeded, and starts no job without its Prolog. The epilogs of a
// job run when nothing of it is left and none of its prologs runs; until they are over it is COMPLETING and
// keeps its nodes. A node whose Prolog or Epilog fails is drained. Nothing of it costs a cluster without such
// programs anything. State's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/embedded/launching/prolog_runs.h"
#include "engine/embedded/state/job.h"
#include "model/lasting_state.pb.h"

namespace minke::model {
enum JobState : int;
enum StateReason : int;
}  // namespace minke::model

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class Prologs {
 public:
  explicit Prologs(Core& core);

  // What the last daemon had done, before the launcher is asked.
  void restore(store::LoadedRows& rows);
  // After the launcher's inventory has been settled: epilogs that are not over go on.
  void go_on();

  // The job has its nodes. RunListener::prologs_over() follows when its prologs have succeeded, maybe at
  // once.
  void before_job(Job& job);
  // Whether its start waits for a prolog: nothing of it has been launched.
  bool holds_back(const Job& job) const;
  // A step is to run on these nodes: `then` follows once each has had its Prolog; false: one failed, or the
  // job is being ended.
  void before_step(Job& job, const std::vector<std::string>& nodes, std::function<void(bool)> then);
  // Whether it should be running, by what is durable, and its start waits for what before_job() does.
  bool wants_start(const Job& job) const;

  // Nothing of the job is left. True: it ends later, by RunListener::epilogs_over(), after its epilogs.
  bool before_end(Job& job, model::JobState state, model::StateReason reason, int32_t exit_code,
                  int64_t end_time);
  bool ends(const Job& job) const;  // its epilogs run, or wait to
  // It was to be requeued, and has been cancelled since.
  void cancelled(const Job& job);

 private:
  struct Step {
    std::vector<std::string> nodes;
    std::function<void(bool)> then;
  };
  struct Of {  // a job
    model::PrologProgress progress;
    bool starting = false;        // before_job() has not come to its end
    bool failed = false;          // one of the prologs has: no other begins
    unsigned running = 0;         // of its programs
    std::set<std::string> begun;  // nodes whose Prolog runs
    std::vector<Step> steps;
  };

  Of& of(const Job& job);
  Of* find(const Job& job);
  const Of* find(const Job& job) const;
  std::vector<std::string> first_nodes(const Job& job) const;  // those that the start waits for
  void go_on_starting(uint32_t job_id, uint32_t run);
  void run_prolog(const Job& job, const std::string& node);
  void prolog_slurmctld_ended(uint32_t job_id, uint32_t run, const PrologOutcome& outcome);
  void prolog_ended(uint32_t job_id, uint32_t run, const std::string& node, const PrologOutcome& outcome);
  void prolog_failed(Job& job, bool hold);
  void settle_steps(Job& job);
  bool waits_for_components(const Job& job) const;  // a heterogeneous job's first one
  void begin(Job& job);
  void run_epilogs(Job& job);
  void epilog_ended(uint32_t job_id, uint32_t run, const std::string& node, const PrologOutcome& outcome);
  void conclude(Job& job);
  void drain(const std::string& node, const char* reason);
  void run(const Job& job, const std::vector<std::string>& programs, const char* context,
           const std::string& node, std::function<void(const PrologOutcome&)> done);
  void keep(const Of& of);
  void forget(uint32_t job_id);

  Core& core_;
  PrologRuns runs_;
  std::map<uint32_t, Of> jobs_;
};

}  // namespace minke::engine
