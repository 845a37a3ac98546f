// How long jobs of each kind waited, and what became of them: by partition, with or without GPUs, and by how
// long they asked for. Waiting counts from when a job was eligible. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

class WaitTally {
 public:
  // Counts what began at `since` or later.
  explicit WaitTally(int64_t since) : since_(since) {}
  void add(const model::JobRecord& job);

  struct Row {
    std::string partition;
    bool has_gpus = false;
    uint32_t limit_minutes = 0;  // those that asked for this long at most; 0: for more than all classes
    uint64_t jobs = 0;
    double median = 0, mean = 0, most = 0;  // s of waiting
    uint64_t completed = 0, timed_out = 0;
    double run_share = 0;  // of its limit, the median of those that completed; 0: none did
  };
  std::vector<Row> rows() const;

 private:
  struct Kind {
    std::vector<uint32_t> waits;
    std::vector<float> run_shares;  // of those that completed, and had a limit
    uint64_t completed = 0, timed_out = 0;
  };
  const int64_t since_;
  std::map<std::tuple<std::string, bool, uint32_t>, Kind> kinds_;
};

}  // namespace minke::view
