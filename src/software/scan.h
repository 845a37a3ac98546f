// Finds what a machine has of compilers, Pythons, CUDA toolkits, MPI libraries and other programs that
// clusters offer as modules. Runs the programs that it finds, to ask their version. Blocking.
#pragma once

#include <string>
#include <vector>

#include "software/found.h"

namespace minke::software {

struct ScanOptions {
  std::vector<std::string> directories;  // of programs; looked through in this order
  bool for_everybody = false;            // leaves out what not every user may reach
};

// The directories of PATH, those where such software usually is, and `more` with its bin, in this order:
// `more` first. Directories of this cluster's own links (below `home`) are left out.
std::vector<std::string> program_directories(const std::string& home, const std::vector<std::string>& more);

// By name, and by version, the lowest first. Of two of one version the first found counts.
std::vector<Found> scan(const ScanOptions& options);

}  // namespace minke::software
