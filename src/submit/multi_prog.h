// The configuration file of `srun --multi-prog`: which task runs which program.
//
// A line is a set of task numbers ("0", "1-3", "4,6", "*" for all that no earlier line names) and a command
// line, in which %t is the task's number and %o its place within the line's set (of "*": all tasks). A task
// may be named only once, and "*" must come last. '#' begins a comment line; a '\' at the end of a line
// continues it; single quotes keep their content literally, '\' the next character. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::submit {

// Returns the programs' arguments by rank, for `tasks` tasks. `name` is the file's, for Slurm's messages.
Result<std::vector<std::vector<std::string>>> parse_multi_prog(std::string_view content,
                                                               const std::string& name, uint32_t tasks);

}  // namespace minke::submit
