// Prologs: the administrator's programs before and after jobs. PrologSlurmctld and Prolog delay a job's
// start; Prolog delays only its script, or a step on nodes that had no Prolog yet. Epilog and
// EpilogSlurmctld delay its end.
//
// Invariants: no program runs before the job's start is durable. So a job whose Prolog has begun is
// known to hold nodes, and its Epilog is not forgotten. A completed program is durable before its
// consequences: after a crash the daemon runs unfinished ones again, and no job starts without its
// Prolog. Epilogs run when nothing is left of the job and none of its prologs runs; until they end, the
// job is COMPLETING and keeps its nodes. If a Prolog or Epilog fails, its node is drained. Clusters
// without such programs pay nothing. State's thread.
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

  // Restores the progress that the last daemon stored, before the launcher is asked.
  void restore(store::LoadedRows& rows);
  // Continues unfinished epilogs, after the launcher's inventory has been settled.
  void go_on();

  // The job has its nodes. RunListener::prologs_over() follows when its prologs have
  // succeeded, possibly within this call.
  void before_job(Job& job);
  // Whether a prolog delays the start: nothing of the job has been launched.
  bool holds_back(const Job& job) const;
  // A step will run on these nodes. Calls `then` once each of them has had its Prolog; false: a Prolog
  // failed, or the job is being ended.
  void before_step(Job& job, const std::vector<std::string>& nodes, std::function<void(bool)> then);
  // Whether the stored state says that it runs, but its start waits for the prologs of before_job().
  bool wants_start(const Job& job) const;

  // Nothing is left of the job. True: its epilogs run first, and RunListener::epilogs_over() follows.
  bool before_end(Job& job, model::JobState state, model::StateReason reason, int32_t exit_code,
                  int64_t end_time);
  bool ends(const Job& job) const;  // its epilogs run or are about to
  // The job was to be requeued and has been cancelled meanwhile.
  void cancelled(const Job& job);

 private:
  struct Step {
    std::vector<std::string> nodes;
    std::function<void(bool)> then;
  };
  struct Of {  // about one job
    model::PrologProgress progress;
    bool starting = false;        // before_job() has not finished
    bool failed = false;          // a prolog failed: no other begins
    unsigned running = 0;         // number of its running programs
    std::set<std::string> begun;  // nodes whose Prolog runs
    std::vector<Step> steps;
  };

  Of& of(const Job& job);
  Of* find(const Job& job);
  const Of* find(const Job& job) const;
  std::vector<std::string> first_nodes(const Job& job) const;  // nodes that the start waits for
  void go_on_starting(uint32_t job_id, uint32_t run);
  void run_prolog(const Job& job, const std::string& node);
  void prolog_slurmctld_ended(uint32_t job_id, uint32_t run, const PrologOutcome& outcome);
  void prolog_ended(uint32_t job_id, uint32_t run, const std::string& node, const PrologOutcome& outcome);
  void prolog_failed(Job& job, bool hold);
  void settle_steps(Job& job);
  bool waits_for_components(const Job& job) const;  // true for the first component of a heterogeneous job
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
