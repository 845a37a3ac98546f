// The tree of module files for the results of a scan, and Lmod's settings for it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "software/found.h"

namespace minke::software {

inline constexpr char kStandardEnvironment[] = "2023";  // the version of StdEnv
// The place of Lmod on Debian.
inline constexpr char kLmodDirectory[] = "/usr/share/lmod/lmod";

// Returns one module file. Pure. `links` is the directory of its links, if it has any.
std::string module_file(const Found& found, const std::string& links);
// Returns that of StdEnv, which loads the newest compiler and MPI library. Pure.
std::string standard_environment_file(const std::vector<Found>& found);

// Makes the tree anew, with its directories of links, in one step: a reader sees the old one or the new.
// Makes Lmod's settings and the directory for administrators' own modules if they are missing.
Status write_module_tree(const std::string& home, const std::vector<Found>& found);

}  // namespace minke::software
