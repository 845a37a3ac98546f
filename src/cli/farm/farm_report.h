// What a farm shows: its progress, its state, a case's output, and the table of results. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "farming/farm_directory.h"

namespace minke::cli {

// On a terminal one line that changes; elsewhere a line where much has changed.
class ProgressReport {
 public:
  explicit ProgressReport(std::string directory);
  ~ProgressReport();
  void show(const farming::Survey& survey);
  void say(const std::string& what);  // a line of its own

 private:
  std::string directory_;
  bool terminal_;
  bool line_is_open_ = false;
  int64_t shown_ = 0;  // s since the epoch
  std::string last_;
};

// "120 of 1000 cases: 2 failed, 16 run, 53.1 a second, 0:17 to go".
std::string progress_text(const farming::Survey& survey);
void print_summary(const farming::Survey& survey);
void print_status(const std::string& directory, const farming::Survey& survey);
// The same as one line of JSON.
std::string status_json(const std::string& directory, const farming::Survey& survey);

// What the last run of a case printed, as it stands.
Status print_log(farming::Journal& journal, uint64_t number);
// Comma-separated values: a line for each case.
Status print_results(farming::Journal& journal, const farming::FarmSettings& settings);

}  // namespace minke::cli
