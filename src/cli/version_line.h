// What --version of Slurm's commands prints.
#pragma once

#include <string_view>

namespace minke::cli {

inline constexpr std::string_view kVersionLine = "slurm 22.05.8\n";  // the Slurm whose language is spoken

}  // namespace minke::cli
