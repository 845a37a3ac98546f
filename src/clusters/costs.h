// What a site counts for a core, a GPU and a kilowatt-hour: from it follow the cost and the footprint of
// jobs. The figures are Narval's published ones, unless a site states its own ([portal] of minke.toml). Plain
// data.
#pragma once

#include <string>

namespace minke::clusters {

struct Costs {
  std::string currency = "$";
  double core_hour = 0.00294;  // what it costs to own a core for an hour
  double gpu_hour = 0.314;     // of a job with GPUs these alone count
  double kwh = 0.04158;        // electricity
  double cooling = 0.25;       // more of it, for cooling
  double kg_co2_per_mwh = 0.5;
  double km_per_kwh = 6.62;         // of an electric car
  double cloud_core_hour = 0.0478;  // the same elsewhere
  double cloud_gpu_hour = 1.7725;
};

}  // namespace minke::clusters
