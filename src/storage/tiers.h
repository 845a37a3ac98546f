// The tiers of storage (clusters/tier.h) of a cluster: where they are for a user, and which variables
// programs get. Pure; any thread.
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

// Returns the tiers of a well-known cluster, under `root`; nothing if they are not known.
std::optional<std::vector<Tier>> profile_tiers(std::string_view profile, const std::string& root);
std::vector<std::string_view> profile_names();

// Where the tier is for them. Returns nothing for names that would lead elsewhere (with a slash, "..").
std::optional<std::string> tier_path(const Tier& tier, const std::string& user, const std::string& group,
                                     const std::string& home);

// The tier with the limits that this group has.
Tier tier_for_group(const Tier& tier, std::string_view group);

// Replaces %u and %g. Nothing for names that would lead elsewhere.
std::optional<std::string> expanded_path(const std::string& pattern, const std::string& user,
                                         const std::string& group);

// NAME=VALUE each: where the tiers are for them, by the names that programs know. `tmp_dir` is the job's own
// directory; empty if there is no job.
std::vector<std::string> tier_variables(const std::vector<Tier>& tiers, const std::string& user,
                                        const std::string& group, const std::string& tmp_dir);

// diskusage_report's size: four digits at least, the unit, "B": "  20GiB"; files without "B": " 208K".
std::string report_size(uint64_t number, unsigned scale, std::string_view suffix);
// shownicerquota.pl's: "86.2G", "982.1M"; files: "139K", "20,517".
std::string nicer_size(uint64_t bytes);
std::string nicer_files(uint64_t files);

}  // namespace minke::storage
