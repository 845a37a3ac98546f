// The parts of a GPU's cycles and the rates of its links: their names in JSON and for Prometheus. Constant
// data; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/measurement.pb.h"

namespace minke::view {

struct GpuPartName {
  model::GpuPart part;
  std::string_view name;  // "sm_active_percent", of /api/v1 and `minke top --json`
  double scale;           // what the name's unit is of a figure's
  // As dcgm-exporter has it (default-counters.csv), with its unit: parts are ratios, rates are bytes a
  // second.
  std::string_view exported;
  double exported_scale;
  std::string_view help;
};
std::span<const GpuPartName> gpu_part_names();
// Null: a later version's, which this program does not know.
const GpuPartName* name_of(model::GpuPart part);
// The stored values of a part in a series, times `scale`. Nothing: not measured then.
std::vector<std::optional<double>> values_of(const model::Series::Gpu::Part& part, double scale);

}  // namespace minke::view
