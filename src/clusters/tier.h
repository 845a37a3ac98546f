// A tier of storage: its place, its name, and how much of it one may use. Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minke::clusters {

// What jobs may do with a tier if they have a view of the mounts of their own.
enum class InJobs { kYes, kReadOnly, kNo };

// How many snapshots are kept, and how far apart.
struct SnapshotRule {
  uint32_t seconds = 0, keep = 0;
};

// The limits of one group's directory where they differ from the tier's.
struct GroupLimits {
  std::string group;
  uint64_t space = 0, hard_space = 0;  // 0: as the tier's
  uint64_t files = 0, hard_files = 0;
};

struct Tier {
  std::string name;       // home, scratch, project, nearline, vault, work, archive, local
  std::string path;       // with %u, the user, or %g, the group; empty: the user's own home
  std::string variable;   // in jobs, "SCRATCH"; empty: none
  bool of_group = false;  // the group's, with a directory for each member
  // The limits of one user; 0: no limit. At a hard limit files cannot grow any more.
  uint64_t space = 0, hard_space = 0;  // bytes
  uint64_t files = 0, hard_files = 0;
  bool of_job = false;      // each job's own, removed at its end: no path, nothing that a user keeps
  uint32_t purge_days = 0;  // files that nobody used for so long are to go; 0: they stay
  std::vector<SnapshotRule> snapshots = {};  // none: none are made
  bool backed_up = false;                    // by the site: Minke makes no backups, and only reports this
  InJobs in_jobs = InJobs::kYes;
  std::string link = {};                       // in the user's home, with %u or %g; empty: none
  std::string purpose = {};                    // what it is for, as users read it
  bool of_node = false;                        // each node's own: the path is not below the tiers' root
  std::vector<GroupLimits> group_limits = {};  // of a group's tier
};

}  // namespace minke::clusters
