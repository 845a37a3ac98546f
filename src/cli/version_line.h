// The --version of Slurm's commands.
#pragma once

#include <string>

#include "base/version.h"

namespace minke::cli {

// "slurm 26.05.5": the release that is spoken.
inline std::string version_line() {
  return "slurm " + std::string(slurm_version(spoken_release())) + "\n";
}

}  // namespace minke::cli
