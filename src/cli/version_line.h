// The --version of Slurm's commands.
#pragma once

#include <string_view>

namespace minke::cli {

inline constexpr std::string_view kVersionLine = "slurm 22.05.8\n";  // the Slurm that this program imitates

}  // namespace minke::cli
