// The directory of a farm of `minke farm`: what was asked for, its table, and what its workers write. One
// thread; blocking.
//
//   farm.json       FarmSettings
//   table           a line for each case (farm/case_table.h)
//   job.request     the request of a job of it, as it was submitted first
//   ledger, lock    farming/journal.h
//   worker.*        farming/worker_files.h
//   jobs            what its jobs printed themselves: nothing, as long as all is well
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/submission.pb.h"
#include "base/result.h"
#include "farm/case_table.h"
#include "farm/command_template.h"
#include "farm/retry_rule.h"
#include "farm/tally.h"
#include "farming/journal.h"

namespace minke::farming {

struct FarmSettings {
  farm::TableForm form = farm::TableForm::kLines;
  std::vector<std::string> columns;
  std::vector<std::string> words;  // of the command; empty: each line is a command of the shell
  farm::RetryRule rule;
  uint32_t cpus_per_case = 1;
  uint32_t at_once = 0;   // cases in a job; 0: as its CPUs or GPUs allow
  uint32_t jobs = 0;      // 0: found from the first cases' times
  std::string directory;  // where cases run, absolute
};

std::string format_settings(const FarmSettings& settings);
Result<FarmSettings> read_settings(const std::string& directory);
Result<api::SubmitRequest> read_job_request(const std::string& directory);

// Reads lines from somewhere: each is passed on without its end.
using LineSource = std::function<Status(const std::function<Status(std::string_view line)>& take)>;

struct NewFarm {
  FarmSettings settings;
  std::string table_name;  // for messages
  LineSource lines;
  std::string request;  // serialised api::SubmitRequest
};
// Makes the directory in one step. Error: EEXIST, or a line of the table that is wrong. Returns the number of
// cases.
Result<uint64_t> make_farm(const std::string& directory, NewFarm farm);

// Adds cases to a farm, in a turn. Returns how many.
Result<uint64_t> add_cases(Journal& journal, const FarmSettings& settings, const std::string& table_name,
                           const LineSource& lines);

// How a case stands: by its last attempt.
struct CaseState {
  bool ended = false;
  bool waits = false;     // to run, for the first time or again
  farm::Outcome outcome;  // where it has ended
  uint32_t worker = 0;
};
// Of all cases; element 0 is case 1.
Result<std::vector<CaseState>> case_states(Journal& journal);

struct Survey {
  uint64_t cases = 0, ok = 0, failed = 0, lost = 0, waiting = 0, running = 0;
  uint64_t workers = 0, left = 0;
  bool stopped = false;
  farm::Tally tally;                                  // of the ends that workers have recorded
  std::array<uint64_t, farm::kEndings> lost_by = {};  // by ending: attempts that nobody has recorded
  uint64_t lost_again = 0;                            // of those: run again
};
Result<Survey> survey(Journal& journal);

}  // namespace minke::farming
