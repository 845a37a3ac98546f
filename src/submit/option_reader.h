// Reads options from a list of arguments: the command line and the #SBATCH lines share it.
//
// Pure; may be called from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submit/option_table.h"

namespace minke::submit {

struct ReadOptions {
  std::vector<Setting> settings;
  std::vector<std::string> positional;  // from the first argument that is not an option
  std::string problem;                  // not empty: glibc's message, without the program's name
};

ReadOptions read_options(Command command, std::span<const std::string> arguments, Source source);

// Slurm checks each value as it reads it, so a wrong one is told before what is no option behind it. Nothing:
// none is wrong.
std::optional<Refusal> refuse_value(const Invocation& invocation, std::span<const Setting> settings);

// Returns "sbatch: <problem>" and the hint at --help, with the exit status of a usage error.
Refusal refuse_option(const Invocation& invocation, std::string_view problem);

}  // namespace minke::submit
