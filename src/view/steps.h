// squeue --steps: the table of running steps, each beside the job that it belongs to. Pure.
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

// Pairs steps with their jobs (a step whose job is not there is left out), keeps what the options select,
// sorts.
Result<std::vector<StepLine>> step_lines(std::span<const model::StepRecord* const> steps,
                                         std::span<const model::JobRecord* const> jobs,
                                         const SqueueOptions& options);

// What is no field is named in `problems`, for stderr; the table does without it.
Table<StepLine> step_table(const SqueueOptions& options, std::vector<std::string>& problems);

}  // namespace minke::view
