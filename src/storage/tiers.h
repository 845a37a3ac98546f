// The tiers of storage that a cluster has: where they are, what they are called, how much of them one may
// use. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minke::storage {

// What jobs may do with a tier where they have a view of their own of what is mounted.
enum class InJobs { kYes, kReadOnly, kNo };

// So many snapshots, so far apart, are kept.
struct SnapshotRule {
  uint32_t seconds = 0, keep = 0;
};

struct Tier {
  std::string name;       // home, scratch, project, nearline, vault, work, archive, local
  std::string path;       // with %u, the user, or %g, the group; empty: the user's own home
  std::string variable;   // in jobs, "SCRATCH"; empty: none
  bool of_group = false;  // the group's, with a directory for each member
  // What one may use; 0: no limit. Hard limits are where files cannot grow any more.
  uint64_t space = 0, hard_space = 0;  // bytes
  uint64_t files = 0, hard_files = 0;
  bool of_job = false;      // each job's own, gone at its end: no path, nothing that one has in it
  uint32_t purge_days = 0;  // files that nobody used for so long are to go; 0: they stay
  std::vector<SnapshotRule> snapshots = {};  // none: none are made
  bool backed_up = false;  // by somebody else: Minke makes no backups, and says what is the case
  InJobs in_jobs = InJobs::kYes;
};

// The tiers as a well-known cluster has them, under `root`: narval, fir, rorqual, mila, alex, sharcnet.
// Nothing: it is not known.
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
