// The jobs of a farm: submitted so that each submission happens once, whoever dies meanwhile, and followed.
// One thread; blocking.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "farm/retry_rule.h"
#include "farm/wishes.h"
#include "farming/journal.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::farming {

struct JobOrder {
  uint32_t jobs = 1;
  uint32_t level = 0;       // of memory: twice as much for each
  std::string other_than;   // a node's name; empty: any
  uint32_t minutes = 0;     // where the farm's request does not say; 0: the cluster's own
  uint64_t memory_mib = 0;  // of level 0, where the request does not say; 0: not known
};
// Outside of a turn. Returns the job's number.
Result<uint32_t> submit_jobs(engine::Engine& cluster, Journal& journal, const JobOrder& order);

// Completes submissions that were cut short.
Status complete_submissions(engine::Engine& cluster, Journal& journal);

struct FarmJobs {
  std::vector<farm::Present> present;
  uint64_t queued = 0, running = 0;
  std::vector<uint32_t> held;     // whose launch has failed again and again
  std::vector<std::string> left;  // that run by the cluster's records, and whose workers have all ended
};
// What the cluster knows of a farm's jobs; accounts for workers whose jobs have ended, and releases jobs
// whose launch has failed.
Result<FarmJobs> follow_jobs(engine::Engine& cluster, Journal& journal, const farm::RetryRule& rule);

// Cancels jobs, named as squeue shows them ("12_3"); an end that the cluster knows already is no failure.
Status cancel_jobs(engine::Engine& cluster, const std::vector<std::string>& jobs);
// Cancels all of them; those that run only where `running`.
Status cancel_jobs(engine::Engine& cluster, Journal& journal, bool running);

}  // namespace minke::farming
