// Which of a step's GPUs on a node one task sees: --gpu-bind, --gpus-per-task, --ntasks-per-gpu. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_record.pb.h"

namespace minke::api {
class StepSpec;
}  // namespace minke::api

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::environment {

// `gpus` are those of the step on this node. Returns all of them, unless the step gives each task a part.
std::vector<uint32_t> gpus_of_task(const api::StepSpec& spec, const std::vector<uint32_t>& gpus,
                                   uint32_t local_id);

// Handles --gpu-bind=verbose: a task is told the GPUs it sees, the step's on this node, and the numbers by
// which it sees its own.
bool tells_gpu_binding(std::string_view gpu_bind);
std::string gpu_binding_text(const std::vector<uint32_t>& own, const std::vector<uint32_t>& of_step,
                             const std::string& visible);

// Returns the number of GPUs on each node that a job with whole nodes asked for: a step that asks for none in
// particular sees so many.
std::vector<uint32_t> gpus_by_default(const model::JobSpec& spec,
                                      const google::protobuf::RepeatedPtrField<model::NodeAllocation>& nodes);

std::string join_numbers(const std::vector<uint32_t>& numbers);  // "0,2"

}  // namespace minke::environment
