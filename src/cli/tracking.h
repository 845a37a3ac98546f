// minke metrics and minke jobs: the metrics of training programs, read from the
// programs' own files.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct MetricsOptions {
  std::string job;
  std::vector<std::string> files;  // to read instead of searching for files
  std::vector<std::string> names;  // with wildcards; none: all
  bool follow = false;             // until the job ends
  bool table = false;              // no curves
  bool json = false;
};
int metrics(const MetricsOptions& options);

struct RankOptions {
  std::vector<std::string> metrics;  // one column each; the first one ranks
  std::string value = "last";        // or least, largest
  bool sort = false, ascending = false;
  std::string since;  // a day; empty: all
  bool json = false;
};
int rank_jobs(const RankOptions& options);

}  // namespace minke::cli
