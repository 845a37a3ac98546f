// The tiers of storage (clusters/tier.h) that a cluster has: where they are for a user, and what programs
// find of them. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clusters/tier.h"

namespace minke::storage {

using clusters::InJobs;
using clusters::SnapshotRule;
using clusters::Tier;

// The tiers as a well-known cluster has them, under `root`. Nothing: they are not known.
std::optional<std::vector<Tier>> profile_tiers(std::string_view profile, const std::string& root);
std::vector<std::string_view> profile_names();

// Where it is for them. Names that would lead elsewhere (with a slash, "..") give nothing.
std::optional<std::string> tier_path(const Tier& tier, const std::string& user, const std::string& group,
                                     const std::string& home);

// NAME=VALUE each: where the tiers are for them, by the names that programs know. `tmp_dir`: the job's own
// directory; empty: there is no job.
std::vector<std::string> tier_variables(const std::vector<Tier>& tiers, const std::string& user,
                                        const std::string& group, const std::string& tmp_dir);

// diskusage_report's size: four digits at least, the unit, "B": "  20GiB"; files without "B": " 208K".
std::string report_size(uint64_t number, unsigned scale, std::string_view suffix);
// shownicerquota.pl's: "86.2G", "982.1M"; files: "139K", "20,517".
std::string nicer_size(uint64_t bytes);
std::string nicer_files(uint64_t files);

}  // namespace minke::storage
