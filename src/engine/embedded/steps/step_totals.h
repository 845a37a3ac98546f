// What a step used in all, added up from its tasks; and a job, from its steps. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace minke::model {
class Usage;
}  // namespace minke::model

namespace minke::engine {

// Adds what one task used. `several`: the step has more tasks than this one, so that it is worth knowing
// which of them used the most and the least.
void add_task_usage(model::Usage& step, const model::Usage& task, uint32_t rank, const std::string& node,
                    bool several);

// Adds what a step used; of the step with the largest process, the size of that.
void add_step_usage(model::Usage& job, const model::Usage& step);

}  // namespace minke::engine
