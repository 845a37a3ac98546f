// What jobs and their steps asked for by GPU and by task, in the words of `scontrol show` and of squeue's
// fields. Pure.
//
// A step has what it inherits from its job, and its part of that; if the job asked for nothing of the kind,
// the step's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::model {
class JobSpec;
class StepRecord;
}  // namespace minke::model

namespace minke::view {

// As {"TresPerTask", "cpu=2"}.
struct RequestWord {
  std::string_view name;  // Slurm's
  std::string text;
};

// CPUs, memory, tasks, binding and frequency by GPU. `release` as of DisplayContext.
std::vector<RequestWord> requests_by_gpu(const model::JobSpec& spec, int release);
// In scontrol's order. A batch step has none.
std::vector<RequestWord> step_requests(const model::StepRecord& step, const model::JobSpec& spec,
                                       int release);

}  // namespace minke::view
