// Reads the Standard Workload Format: one job a line, 18 numbers, comments and headers behind semicolons.
//
// Kept are jobs with a positive number of processors (requested, else allocated), run time and requested
// time; where a job has no requested time, the run time stands in for it if `without_request` says so.
// Cancelled jobs that ran are kept, as the published studies do; the parts
// of an interrupted job are not, where the line that sums them up comes before them. Lines may be shorter
// than 18 fields if those that matter are there.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/trace.h"

namespace minke::sim {

struct SwfOptions {
  bool without_request = false;  // keep jobs that did not say how long they would run
};

// Errors name the line.
Result<Trace> read_swf(std::string_view text, const SwfOptions& options = {});

}  // namespace minke::sim
