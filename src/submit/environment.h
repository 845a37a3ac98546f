// The environment that goes with a job: what --export and --export-file leave of the caller's.
//
// Pure; may be called from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::submit {

// NAME=VALUE entries, each ended by NUL, in the caller's order, a later one of a name taking the place of an
// earlier.
//   "", ALL   everything
//   NONE      only what begins with SLURM_ and SPANK_
//   NIL       the same
//   A,B=v     the SLURM_ and SPANK_ ones, A as it is (nothing where it is not set), B as given
//   ALL,B=v   everything, then B as given; words count in their order
// Commas within quotes do not separate; the quotes stay, as in Slurm.
std::string export_environment(std::span<const std::string> environment, std::string_view export_option);

// True where Slurm starts such a job from the user's login environment, as with --get-user-env.
bool export_needs_user_env(std::string_view export_option);

// The content of --export-file: entries ended by NUL (or by line ends where there is no NUL), as a block to
// append. Fails on an entry without "=".
Result<std::string> read_export_file(std::string_view content);

}  // namespace minke::submit
