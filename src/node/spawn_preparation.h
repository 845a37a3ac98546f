// Prepares what the children of a launch need to start, in memory that they share (node/launch_memory.h). It
// only fills memory: it opens no file, forks nothing and checks nothing on the machine.
#pragma once

#include <string>
#include <vector>

#include "node/launch_memory.h"
#include "node/spawn.h"
#include "node/spawn_child.h"
#include "os/fd.h"

namespace minke::node {
class LaunchOrder;
}  // namespace minke::node

namespace minke::node {

struct PreparedTask {
  ChildBlock* block = nullptr;  // without its report, its group's files and its pipes
  uint32_t place = 0;
  bool after_previous = false;  // it opens files only after the task before it has
};

// Returns one per task of the order. `marker`: the variable that all processes of the job have.
std::vector<PreparedTask> prepare_tasks(const LaunchOrder& order, const std::string& marker,
                                        const std::vector<os::UniqueFd>& descriptors,
                                        const Confinement& confinement, LaunchMemory& memory);

}  // namespace minke::node
