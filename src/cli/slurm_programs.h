// Commands to which Minke adds nothing on a real Slurm: there this process becomes the cluster's own program,
// with the same words, streams and environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace minke::cli {

// Where a Slurm is meant (engine/slurm/find.h) and the command is one of these: does not return, or returns
// the exit code where the cluster lacks it. Nothing: Minke answers itself.
std::optional<int> become_slurm_program(std::string_view name, char** argv);

// The same for one call of any command of Slurm's. `input`: what has been read of standard input already, to
// be read again; empty: nothing.
std::optional<int> become_slurm_program_for_this(std::string_view name, char** argv,
                                                 const std::string& input = "");

}  // namespace minke::cli
