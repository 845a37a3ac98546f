// squeue --steps: the table of running steps, each with its job. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "view/squeue.h"
#include "view/table.h"
#include "view/text.h"

namespace minke::model {
class JobRecord;
class StepRecord;
}  // namespace minke::model

namespace minke::view {

struct StepLine {
  const model::StepRecord* step = nullptr;
  const model::JobRecord* job = nullptr;
};

// The file of a stream of the step's first task, in the job's directory; empty for an empty pattern.
std::string step_file(const StepLine& line, const std::string& pattern);

// Pairs steps with their jobs (steps without one are left out), keeps those that the options
// select, and sorts them.
Result<std::vector<StepLine>> step_lines(std::span<const model::StepRecord* const> steps,
                                         std::span<const model::JobRecord* const> jobs,
                                         const SqueueOptions& options);

// Names unknown fields in `problems`, for stderr; the table omits them.
Table<StepLine> step_table(const SqueueOptions& options, std::vector<std::string>& problems);

}  // namespace minke::view
