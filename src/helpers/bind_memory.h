// --mem-bind of one task: which NUMA nodes its memory comes from, set for this process and whatever it
// executes. For `minke task` alone.
#pragma once

#include <cstdint>
#include <string>

namespace minke::helpers {

// `local_id`: the task's number on its node, `rank` that in its step. What the machine lacks is said on
// standard error and leaves the memory where it was; --mem-bind=verbose says what holds.
void bind_memory(const std::string& text, uint32_t rank, uint32_t local_id, const std::string& node);

}  // namespace minke::helpers
