// The files of a META-Farm directory as META reads them: table.dat, config.h, STATUSES/status.*
// (https://docs.alliancecan.ca/wiki/META-Farm). Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::farm {

struct MetaTable {
  std::string content;           // every line with the case's number in front
  std::vector<std::string> ids;  // of the lines, in their order
  bool numbered = false;         // the numbers were added
};
// A table is numbered already where the first word of each line is a number, and each is larger than that of
// the line above. Blank lines at the end are left out. Errors: the line, and what is wrong there.
Result<MetaTable> read_meta_table(std::string_view content, const std::string& name);

struct MetaConfig {
  uint32_t jobs_max = 998;        // NJOBS_MAX
  int64_t runtime_min = 30;       // RUNTIME_MIN, s: of a job
  int64_t runtime_max = 3000000;  // RUNTIME_MAX, s
  double dt_failed = 5;           // s: a case that is shorter has failed
  uint32_t n_failed_max = 5;      // a job ends where its first cases, so many, have all failed
  bool whole_node = false;        // WHOLE_NODE
  uint32_t n_whole = 1;           // NWHOLE: cases at once on a whole node
};
// Lines NAME=VALUE of a shell; names that mean nothing here are left alone. Errors: the line, and what is
// wrong.
Result<MetaConfig> read_meta_config(std::string_view content);

// Adds the lines "ID STATUS" of a status file: of a case with several lines the last one counts. Lines that
// are none are left out. Returns how many lines counted.
uint64_t add_statuses(std::string_view content, std::map<std::string, int>& statuses);

// Whether the case number comes first: numbers by size, other words behind them.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const;
};

}  // namespace minke::farm
