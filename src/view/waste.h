// What was held and not used, by account and user: processors, memory and GPUs, by the rules of seff
// (efficiency.h). A Tally takes one job after the other and keeps only sums, and the few that wasted most.
// Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clusters/costs.h"
#include "view/efficiency.h"

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

uint64_t held_gpus(const model::JobRecord& job);

// In hours of one core, of a GiB and of one GPU.
struct Waste {
  uint64_t jobs = 0;
  double cores = 0, cores_used = 0;
  double memory = 0, memory_used = 0;                 // of jobs that had a limit
  double gpus = 0, gpus_measured = 0, gpus_used = 0;  // what was not measured is not called wasted
  double cost = 0;                                    // of what was not used, by the site's constants

  Waste& operator+=(const Waste& other);
};

// How bad a share is, by the thresholds of Narval's portal: "", "warning" or "critical".
std::string_view cores_verdict(const Waste& waste);
std::string_view memory_verdict(const Waste& waste);
std::string_view gpus_verdict(const Waste& waste);

class WasteTally {
 public:
  // What ended before `since` is left out, and what has not begun.
  WasteTally(int64_t since, int64_t now, const clusters::Costs& costs)
      : since_(since), now_(now), costs_(costs) {}
  // Each record once.
  void add(const api::AccountedJob& accounted);

  struct Row {
    std::string account, user;
    Waste waste;
  };
  std::vector<Row> rows() const;  // the costliest waste first

  struct WastedJob {
    uint32_t job_id = 0;
    std::string id, name, user;
    Efficiency efficiency;
    Waste waste;
  };
  const std::vector<WastedJob>& worst() const { return worst_; }  // the same order
  const Waste& all() const { return all_; }

 private:
  const int64_t since_, now_;
  const clusters::Costs costs_;
  std::map<std::pair<std::string, std::string>, Waste> rows_;
  std::vector<WastedJob> worst_;
  Waste all_;
};

}  // namespace minke::view
