// Steers a sweep: asks the search, submits a job for each trial, reads what the trainings write, tells the
// search. On any cluster (engine/engine.h). Blocking; one thread, and one process for each sweep
// (Record::steer).
//
// Everything is in the journal before it is done, and a submission has a key: whoever goes on after a kill
// finds what was submitted, and each trial counts once. A trial that the cluster ends (time limit,
// preemption, a lost node), or that ends with exit code 75, is submitted again: its training goes on from its
// own checkpoint.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "model/job_record.pb.h"
#include "sweep/record.h"
#include "sweep/trial_metrics.h"

namespace minke::sweep {

// What to submit for one run of a trial.
struct TrialJob {
  std::string key;     // 16 bytes: submitted twice with one key, it is one job
  std::string name;    // of the job
  std::string script;  // a batch script
  std::string log;     // for its output, appended to
  std::string work_dir;
  std::vector<std::string> sbatch;  // options of the user's
};

struct Surroundings {
  std::function<Result<uint32_t>(const TrialJob& job)> submit;  // returns the job's number
  std::function<std::string(const std::string& name)> variable;
  std::function<void(const std::string& line)> say;
  std::function<bool()> interrupted;
};

class Driver {
 public:
  // `record` is steered by this process.
  Driver(engine::Engine& cluster, Record& record, Surroundings around)
      : cluster_(cluster), record_(record), around_(std::move(around)) {}

  // Returns when the sweep is done, when it was asked to stop (its jobs are cancelled then), or when this
  // process was interrupted: jobs run on.
  enum class Ending { kDone, kStopped, kInterrupted };
  Result<Ending> run();

 private:
  Status fill();
  Status start_run(uint64_t trial);
  Status settle(uint64_t trial);
  Status take_over(uint64_t trial);
  Result<std::string> script_of(const search::Trial& trial);
  Status look();
  Result<std::map<uint32_t, model::JobRecord>> ask_for_jobs(const std::vector<uint32_t>& jobs);
  Status look_at(uint64_t trial, const model::JobRecord* job);
  Status ended(uint64_t trial, const model::JobRecord& job);
  Status complete(uint64_t trial, const model::JobRecord& job);
  const ml::Series* read_metric(uint64_t trial, ml::MetricSet& set);
  Status report(uint64_t trial, uint32_t job);
  Status cancel(uint32_t job);
  Status cancel_all();
  Status check_metric_comes() const;
  bool stop_is_asked() const;
  std::vector<uint64_t> running() const;

  engine::Engine& cluster_;
  Record& record_;
  Surroundings around_;
  std::map<uint64_t, TrialMetrics> metrics_;
  std::map<uint32_t, int> unknown_;  // jobs that nobody knows: how often they were asked for
  std::set<uint32_t> said_held_;     // jobs whose launch has failed again and again
  std::set<std::string> written_;    // names of metrics that trials wrote
};

}  // namespace minke::sweep
