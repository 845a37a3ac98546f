#include "view/footprint.h"

#include "api/accounting.pb.h"
#include "model/job_record.pb.h"
#include "view/efficiency.h"
#include "view/waste.h"

namespace minke::view {

Footprint& Footprint::operator+=(const Footprint& other) {
  jobs += other.jobs;
  measured_jobs += other.measured_jobs;
  core_hours += other.core_hours;
  gpu_hours += other.gpu_hours;
  kwh += other.kwh;
  core_cost += other.core_cost;
  gpu_cost += other.gpu_cost;
  cloud_cost += other.cloud_cost;
  return *this;
}

double Footprint::electricity_cost(const clusters::Costs& costs) const {
  return kwh * costs.kwh * (1 + costs.cooling);
}

double Footprint::cost(const clusters::Costs& costs) const {
  return core_cost + gpu_cost + electricity_cost(costs);
}

double Footprint::kg_co2(const clusters::Costs& costs) const {
  return kwh / 1000 * costs.kg_co2_per_mwh;
}

double Footprint::car_km(const clusters::Costs& costs) const {
  return kwh * costs.km_per_kwh;
}

Footprint footprint_of(const api::AccountedJob& accounted, const clusters::Costs& costs, int64_t now) {
  constexpr double kHour = 3600, kJoulesOfKwh = 3.6e6;
  Footprint print;
  const Efficiency used = efficiency_of(accounted, now);
  if (used.wall_seconds <= 0) return print;
  print.jobs = 1;
  print.core_hours = static_cast<double>(used.core_seconds) / kHour;
  print.gpu_hours =
      static_cast<double>(held_gpus(accounted.job())) * static_cast<double>(used.wall_seconds) / kHour;
  if (used.joules > 0) {
    print.measured_jobs = 1;
    print.kwh = static_cast<double>(used.joules) / kJoulesOfKwh;
  }
  if (print.gpu_hours > 0) {
    print.gpu_cost = print.gpu_hours * costs.gpu_hour;
    print.cloud_cost = print.gpu_hours * costs.cloud_gpu_hour;
  } else {
    print.core_cost = print.core_hours * costs.core_hour;
    print.cloud_cost = print.core_hours * costs.cloud_core_hour;
  }
  return print;
}

}  // namespace minke::view
