// A worker: takes cases from a farm's ledger and runs them, as many at once as it has slots, until none is
// left or its time is up. It writes down that a case begins before it does, and how it ended before another
// begins: whatever ends a worker, it is known what it was doing. One thread; blocks; its signals are taken
// over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "farm/retry_rule.h"
#include "farming/journal.h"

namespace minke::farming {

struct CaseCommand {
  std::vector<std::string> arguments;    // the program first
  std::vector<std::string> environment;  // NAME=VALUE laid over the worker's
};

// What a case runs. Calls come in no particular order.
class Cases {
 public:
  virtual ~Cases() = default;
  virtual Result<CaseCommand> command(uint64_t number, uint32_t attempt, uint16_t slot) = 0;
};

struct WorkerSettings {
  std::string directory;      // of the farm's state
  uint32_t slots = 1;         // 1 … 4096
  uint32_t level = 0;         // of memory
  std::string job;            // its number; empty: none
  std::string host;           // the node's name
  int64_t end_time = 0;       // s since the epoch: of its job; 0: none
  bool keeps_output = false;  // else cases write where the worker writes
  farm::RetryRule rule;
  uint32_t guard_cases = 0;  // it stops where its first cases, so many, …
  double guard_seconds = 0;  // … are all shorter than this
  uint64_t most_cases = 0;   // 0: no bound
};

enum class Farewell {
  kNoneLeft,
  kNoTime,  // its job ends before another case would
  kGuard,
  kEnough,   // most_cases
  kStopped,  // a signal, or its job ends
  kFarmStopped,
};
struct WorkerEnd {
  Farewell why = Farewell::kNoneLeft;
  uint64_t ended = 0;  // cases
  uint64_t ok = 0;
  uint32_t number = 0;  // of the worker
};

// Errors: the farm's files; what it had taken is accounted for as far as that is possible.
Result<WorkerEnd> run_worker(const WorkerSettings& settings, Cases& cases);

}  // namespace minke::farming
