// The tiers of storage that a cluster has: where they are, what they are called, how much of them one may
// use. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minke::storage {

struct Tier {
  std::string name;       // home, scratch, project, nearline, vault, work, archive
  std::string path;       // with %u, the user, or %g, the group; empty: the user's own home
  std::string variable;   // in jobs, "SCRATCH"; empty: none
  bool of_group = false;  // the group's, with a directory for each member
  // What one may use; 0: no limit. Hard limits are where files cannot grow any more.
  uint64_t space = 0, hard_space = 0;  // bytes
  uint64_t files = 0, hard_files = 0;
};

// The tiers as a well-known cluster has them, under `root`: narval, fir, rorqual, mila, alex, sharcnet.
// Nothing: it is not known.
std::optional<std::vector<Tier>> profile_tiers(std::string_view profile, const std::string& root);
std::vector<std::string_view> profile_names();

// Where it is for them. Names that would lead elsewhere (with a slash, "..") give nothing.
std::optional<std::string> tier_path(const Tier& tier, const std::string& user, const std::string& group,
                                     const std::string& home);

// diskusage_report's size: four digits at least, the unit, "B": "  20GiB"; files without "B": " 208K".
std::string report_size(uint64_t number, unsigned scale, std::string_view suffix);
// shownicerquota.pl's: "86.2G", "982.1M"; files: "139K", "20,517".
std::string nicer_size(uint64_t bytes);
std::string nicer_files(uint64_t files);

}  // namespace minke::storage
