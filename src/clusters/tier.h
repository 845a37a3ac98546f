// A tier of storage: where it is, what it is called, how much of it one may use. Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minke::clusters {

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

}  // namespace minke::clusters
