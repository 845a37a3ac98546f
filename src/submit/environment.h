// The environment that a job gets: the part of the caller's that --export and --export-file select.
//
// Pure; may be called from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::submit {

// Returns NAME=VALUE entries, each ended by NUL, in the caller's order; a later entry of a name takes the
// place of an earlier one.
//   "", ALL   everything
//   NONE      only what begins with SLURM_ and SPANK_
//   NIL       the same
//   A,B=v     the SLURM_ and SPANK_ ones, A as it is (omitted if it is not set), B as given
//   ALL,B=v   everything, then B as given; words count in their order
// Commas within quotes do not separate; the quotes stay, as in Slurm.
std::string export_environment(std::span<const std::string> environment, std::string_view export_option);

// Returns whether Slurm starts such a job from the user's login environment, as with --get-user-env.
bool export_needs_user_env(std::string_view export_option);

// Reads the content of --export-file: entries ended by NUL (or by line ends if it has no NUL), as a block to
// append. Fails on an entry without "=".
Result<std::string> read_export_file(std::string_view content);

}  // namespace minke::submit
