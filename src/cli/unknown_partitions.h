// Tells people who watch that a partition which they named is not there: squeue and sinfo print an empty
// table then, as Slurm's do, and programs that read it are told nothing more. One thread.
#pragma once

#include <string>
#include <vector>

namespace minke::engine {
class Engine;
}  // namespace minke::engine

namespace minke::cli {

// Does nothing where standard error is no terminal.
void tell_of_unknown_partitions(engine::Engine& cluster, const char* command,
                                const std::vector<std::string>& named);

}  // namespace minke::cli
