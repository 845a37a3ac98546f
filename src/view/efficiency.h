// How much a job used of what it held: the numbers of seff, which other reports and pages show as well. Pure.
#pragma once

#include <cstdint>

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::view {

struct Efficiency {
  int64_t wall_seconds = 0;
  int64_t cores = 1;
  int64_t cpu_seconds = 0;
  int64_t core_seconds = 0;  // wall time of all its cores
  double memory_kib = 0;     // of the step that used most: its largest process, times the number of its tasks
  double held_kib = 0;
  uint32_t gpus = 0;          // that were measured
  double gpu_percent = 0;     // of one, on average
  double gpu_memory_kib = 0;  // of all of them together, at most
  uint64_t joules = 0;

  double cpu_percent() const;     // of its cores' time; 0 where there was none
  double memory_percent() const;  // of what it held
};

Efficiency efficiency_of(const api::AccountedJob& accounted, int64_t now);

}  // namespace minke::view
