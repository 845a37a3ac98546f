// What each person's running jobs hold and use at this moment, as last measured. A tally takes one job after
// the other and keeps sums. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "view/waste.h"

namespace minke::api {
class JobMeasurement;
}  // namespace minke::api

namespace minke::view {

struct UseNow {
  uint64_t jobs = 0;
  uint64_t measured_jobs = 0;  // of them; only of these there is something used
  double cores = 0, cores_measured = 0, cores_used = 0;
  double memory_gib = 0, memory_gib_measured = 0, memory_gib_used = 0, memory_gib_peak = 0;
  double gpus = 0, gpus_measured = 0, gpus_used = 0;
  double watts = 0;  // of the GPUs

  UseNow& operator+=(const UseNow& other);
  // As waste of one hour, for the verdicts of waste.h: of what was measured.
  Waste waste() const;
};

class UseTally {
 public:
  void add(const api::JobMeasurement& job);
  struct Row {
    std::string user;
    UseNow use;
  };
  std::vector<Row> rows() const;  // who holds most cores first
  UseNow all() const;

 private:
  std::map<std::string, UseNow> rows_;
};

}  // namespace minke::view
