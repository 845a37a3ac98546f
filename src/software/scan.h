// Finds the compilers, Pythons, CUDA toolkits, MPI libraries and other programs of a machine that clusters
// offer as modules. Runs the programs that it finds, to ask for their version. Blocking.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "software/found.h"

namespace minke::software {

struct ScanOptions {
  std::vector<std::string> directories;   // of programs; searched in this order
  bool for_everybody = false;             // leaves out what some user cannot reach
  std::atomic<uint64_t>* done = nullptr;  // counts directories, for another thread
};

// Returns `more` with its bin, then the directories of PATH, then the usual places of such software. Leaves
// out directories of this cluster's own links (below `home`).
std::vector<std::string> program_directories(const std::string& home, const std::vector<std::string>& more);

// Sorted by name, and by version, the lowest first. Of two of one version the first found counts.
std::vector<Found> scan(const ScanOptions& options);

}  // namespace minke::software
