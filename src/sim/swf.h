// Reads the Standard Workload Format: one job a line, 18 numbers, comments and headers behind semicolons.
//
// Keeps jobs with a positive number of processors (requested, else allocated), run time and requested
// time; for a job without a requested time, `without_request` decides whether the run time replaces it.
// Cancelled jobs that ran are kept, as in the published studies; the parts of an interrupted job are
// dropped if the line that sums them up comes before them. Lines may be shorter than 18 fields if the
// needed ones are there.
#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/trace.h"

namespace minke::sim {

struct SwfOptions {
  bool without_request = false;  // keeps jobs without a requested time
};

// An error names the line.
Result<Trace> read_swf(std::string_view text, const SwfOptions& options = {});

}  // namespace minke::sim
