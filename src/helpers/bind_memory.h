// --mem-bind of one task: binds the memory of this process, and of whatever it executes, to NUMA nodes. For
// `minke task` alone.
#pragma once

#include <cstdint>
#include <string>

namespace minke::helpers {

// `local_id` is the task's number on its node, `rank` that in its step. If the machine lacks a node, a
// message goes to standard error and the memory stays unbound; --mem-bind=verbose prints the result.
void bind_memory(const std::string& text, uint32_t rank, uint32_t local_id, const std::string& node);

}  // namespace minke::helpers
