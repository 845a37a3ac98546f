// What jobs cost, and what their electricity means, by a site's constants (clusters/costs.h). Pure.
#pragma once

#include <cstdint>

#include "clusters/costs.h"

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::view {

struct Footprint {
  uint64_t jobs = 0;
  uint64_t measured_jobs = 0;  // whose energy was measured
  double core_hours = 0, gpu_hours = 0;
  double kwh = 0;                      // of the measured ones
  double core_cost = 0, gpu_cost = 0;  // a job with GPUs pays for these alone
  double cloud_cost = 0;

  Footprint& operator+=(const Footprint& other);
  double electricity_cost(const clusters::Costs& costs) const;  // with the cooling
  double cost(const clusters::Costs& costs) const;              // all of it
  double kg_co2(const clusters::Costs& costs) const;
  double car_km(const clusters::Costs& costs) const;
};

// Nothing of a job that has not begun.
Footprint footprint_of(const api::AccountedJob& accounted, const clusters::Costs& costs, int64_t now);

}  // namespace minke::view
