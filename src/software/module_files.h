// The tree of module files for what a scan has found, and Lmod's settings for it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "software/found.h"

namespace minke::software {

inline constexpr char kStandardEnvironment[] = "2023";  // the version of StdEnv
// Where Debian has Lmod.
inline constexpr char kLmodDirectory[] = "/usr/share/lmod/lmod";

// One module file. Pure. `links`: the directory of its links, where it has any.
std::string module_file(const Found& found, const std::string& links);
// Of StdEnv, which loads the newest compiler and MPI library. Pure.
std::string standard_environment_file(const std::vector<Found>& found);

// Makes the tree anew, with its directories of links, in one step: who looks meanwhile sees the old one or
// the new. Makes Lmod's settings and the directory for administrators' own modules where they are not there.
Status write_module_tree(const std::string& home, const std::vector<Found>& found);

}  // namespace minke::software
