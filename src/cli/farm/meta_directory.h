// A META farm's directory: the user's files, and what Minke keeps of its runs in MISC. One thread; blocking.
//
//   MISC/lock         who submits holds it
//   MISC/run-N        one submission and what became of it; the last one is the farm's present run
//     table.dat       its cases, as they were when it was submitted: that one is run, whatever becomes of the
//     user's ledger, worker.*  farming/journal.h, farming/worker_files.h run             MetaRun
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "farm/meta_files.h"
#include "farm/tally.h"

namespace minke::cli {

inline constexpr char kNoFarm[] = "Non-farm directory, or no farm has been submitted; exiting";

// A submission of jobs, whose key makes it happen once.
struct MetaJobs {
  std::string key;      // hexadecimal
  uint32_t count = 0;   // tasks of an array; 0: one job, the one behind the farm
  uint32_t job_id = 0;  // 0: not submitted yet, or nobody knows
};

struct MetaRun {
  uint32_t number = 0;     // from 1; 0: the farm has none
  bool submitted = false;  // all of its jobs are
  uint64_t cases = 0;
  uint32_t at_once = 1;            // cases, in each job
  bool simple = false;             // each job runs at_once cases, and ends
  bool resubmits = false;          // -auto
  int64_t runtime = 0;             // s: of a job
  int64_t begun = 0;               // s since the epoch: when it was made; read back, not written
  std::vector<std::string> words;  // N, and sbatch's arguments
  std::vector<MetaJobs> jobs;

  std::string directory() const { return "MISC/run-" + std::to_string(number); }
};

// The last run that was begun in this directory; number 0 where there is none.
Result<MetaRun> read_last_run();
// Writes down what has changed of it.
Status write_run(const MetaRun& run);
// Makes the directory of a new run, with its table and ledger, in one step.
Status make_run(const MetaRun& run, const std::string& table);

Result<std::string> read_farm_file(const std::string& name);
// What STATUSES says of all cases, and how many lines it has.
struct MetaStatuses {
  std::map<std::string, int> of;
  uint64_t lines = 0;
};
Result<MetaStatuses> read_statuses();
// How a run's cases ended, by the workers' own records.
Result<farm::Tally> run_tally(const MetaRun& run);
// Cases of the farm that have not succeeded: the lines of table.dat, and how many of them never ended. A case
// has ended where STATUSES or a worker's record says so, whatever became of its script. One that was cut
// short with its job as often as a farm allows counts as ended, too: else -auto would never come to an end.
struct MetaLeft {
  std::string table;
  uint64_t cases = 0, never_ended = 0, all = 0;
  std::string hopeful_table;  // without those that were cut short so often
  uint64_t hopeful = 0;
  uint32_t idle_runs = 0;  // the last so many runs have begun no case
  uint32_t patience = 0;   // how often a case may be cut short, and so many runs may be idle
};
Result<MetaLeft> read_left(const MetaRun& run);

// "farm: what" on standard output, as META's commands end; returns 1.
int farm_complain(const std::string& what);

}  // namespace minke::cli
