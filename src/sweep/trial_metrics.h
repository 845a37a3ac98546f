// The metrics that a trial's training has written below its directory, read on as they grow. One thread;
// blocking, with this process's rights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "ml/metric_files.h"
#include "ml/metrics.h"

namespace minke::sweep {

class TrialMetrics {
 public:
  explicit TrialMetrics(std::string directory) : directory_(std::move(directory)) {}
  // Looks for files, and reads what is new in them.
  void update();
  ml::MetricSet all() const;
  // Whether there are files that surely have metrics, were it none that is finite.
  bool has_files() const;
  std::string problem() const;  // of a damaged file; empty: there is none

 private:
  struct File {
    std::unique_ptr<ml::MetricParser> parser;
    ml::MetricSet metrics;
    uint64_t read = 0, inode = 0;
    std::string problem;
  };
  void look_into(const std::string& directory, int depth);
  static void read_on(const std::string& path, File& file);

  std::string directory_;
  std::map<std::string, File> files_;
};

}  // namespace minke::sweep
