// [variables] of minke.toml: what commands that look find in their environment where their user has set
// nothing, such as the columns that a site shows in squeue. Blocking; any thread.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

namespace minke::config {

// Those that a site may set.
inline constexpr std::array<std::string_view, 9> kSiteVariables = {
    "SACCT_FORMAT",   "SINFO_FORMAT", "SINFO_SORT",        "SPRIO_FORMAT", "SQUEUE_FORMAT",
    "SQUEUE_FORMAT2", "SQUEUE_SORT",  "SLURM_TIME_FORMAT", "SQUEUE_STATES"};

// [compatibility] slurm: the release of Slurm that is spoken; the newest where the file does not say.
int read_release(const std::string& path);

// Reads a file; nothing if there is none, or it is broken.
std::map<std::string, std::string> read_site_variables(const std::string& path);

}  // namespace minke::config
