// What a sweep's record says, as text, JSON, CSV and SVG. Pure but for the curves, which are read from the
// trials' directories. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ml/metrics.h"
#include "sweep/record.h"

namespace minke::sweep {

// "COMPLETED", "RUNNING", "PAUSED", "FAILED", "STOPPED".
std::string fate_name(search::Fate fate);

std::string status_text(const Record& record, int64_t now);
std::string status_json(const Record& record);
// The best trial: its value, its parameters, its directory. Fails if no trial has a value.
Result<std::string> best_text(const Record& record);
Result<std::string> best_json(const Record& record);
std::string csv(const Record& record);

struct Curve {
  uint64_t trial = 0;
  ml::Series series;
};
// Of the metric, by trial; trials without it are left out.
std::vector<Curve> read_curves(const Record& record);
// The best few, one below the other.
std::string curves_text(const Record& record, const std::vector<Curve>& curves, size_t width);
std::string curves_svg(const Record& record, const std::vector<Curve>& curves);
// Each trial as a line from parameter to parameter, in the colour of its value.
std::string parallel_text(const Record& record, size_t width);
std::string parallel_svg(const Record& record);
// How much each parameter matters (search/importance.h).
Result<std::string> importance_text(const Record& record, size_t width);
Result<std::string> importance_svg(const Record& record);

}  // namespace minke::sweep
