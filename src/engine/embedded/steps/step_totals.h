// Adds up the usage of a step from its tasks, and that of a job from its steps. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace minke::model {
class Usage;
}  // namespace minke::model

namespace minke::engine {

// Adds the usage of one task. `several`: the step has more tasks, so the result records which of
// them used the most and the least.
void add_task_usage(model::Usage& step, const model::Usage& task, uint32_t rank, const std::string& node,
                    bool several);

// Adds the usage of a step. The largest process of all steps determines the peak size.
void add_step_usage(model::Usage& job, const model::Usage& step);

}  // namespace minke::engine
