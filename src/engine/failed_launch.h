// Jobs that wait held because their launch has failed: a node was bad, or a Slurm's controller died while it
// started them. Who follows jobs of his own (a farm, a sweep) releases them, or they would wait for ever.
// One thread; blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine {

// Slurm's "launch failed requeued held". What a person holds is not that.
bool waits_after_failed_launch(const model::JobRecord& job);

// Releases jobs that wait so, but none more than twice: each launch that fails may drain a node. Returns
// those that stay held, for somebody to look at.
Result<std::vector<uint32_t>> release_after_failed_launch(Engine& cluster,
                                                          const std::vector<model::JobRecord>& held);

// What people read about one that stays held.
std::string held_text(uint32_t job_id);

}  // namespace minke::engine
