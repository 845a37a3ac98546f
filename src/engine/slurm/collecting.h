// What the head's agent collects: it asks the agents of all nodes, one after the other in groups, what they
// have measured of jobs that have ended, and keeps that (ended_jobs.h). An agent that does not answer is
// asked again in the next round: it keeps what has ended for an hour.
//
// run() is a thread of its own, until the process ends.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/slurm/agent_client.h"
#include "engine/slurm/ended_jobs.h"
#include "engine/slurm/measured_jobs.h"
#include "engine/slurm/slurm_engine.h"

namespace minke::engine::slurm {

class Collecting {
 public:
  Collecting(SlurmEngine& cluster, EndedJobs& jobs) : cluster_(cluster), jobs_(jobs) {}
  [[noreturn]] void run(std::chrono::seconds period);

 private:
  Status round();
  // `nodes`: names and addresses.
  Status ask(std::vector<std::pair<std::string, std::string>> nodes, AgentQuestion question,
             const Munge& munge);

  SlurmEngine& cluster_;
  EndedJobs& jobs_;
  std::map<std::string, EndedAfter> known_;  // by node: the last one that is kept
};

}  // namespace minke::engine::slurm
