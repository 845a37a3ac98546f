// The configuration file of `srun --multi-prog`: which task runs which program.
//
// A line is a set of task numbers ("0", "1-3", "4,6", "*" for all that no earlier line names) and a command
// line, in which %t is the task's number and %o its place within the line's set (of "*": all tasks). No task
// is named twice, and nothing comes behind "*". '#' begins a comment line; a '\' at the end of a line goes on
// with the next; single quotes keep what they hold as it is, '\' the next character. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::submit {

// The programs' arguments by rank, for `tasks` tasks. `name`: of the file, for Slurm's messages.
Result<std::vector<std::vector<std::string>>> parse_multi_prog(std::string_view content,
                                                               const std::string& name, uint32_t tasks);

}  // namespace minke::submit
