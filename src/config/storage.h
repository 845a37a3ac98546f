// [storage] of the configuration: the tiers of storage (storage/tiers.h), and their management.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "storage/free_space.h"
#include "storage/tiers.h"

namespace minke::config {

class Table;

struct StorageConfiguration {
  std::string profile;                            // empty: no tiers
  std::string root;                               // empty: storage/ in the cluster's home; "/" stays
  bool hold_jobs = true;                          // jobs of users over quota do not start
  uint32_t grace_minutes = 7 * 24 * 60;           // how long one may be over a soft limit
  uint32_t count_seconds = 600;                   // between two counts of the same directory
  bool purge = false, snapshots = false;          // by the calendar
  storage::Reserve snapshot_free{.share = 0.05};  // of a disk, what snapshots leave free
  std::string keeper;  // the machine that keeps tiers on network file systems; empty: there is only one
  std::vector<std::string> project_groups;  // patterns of their names; empty: all groups of users
  std::vector<storage::Tier> below_root;    // the profile's, with the file's changes
  std::vector<storage::Tier> tiers(const std::string& home) const;  // `home`: the cluster's
};
StorageConfiguration read_storage(Table& table);

// Parses a configuration's text, for commands. Errors name file, line and what was expected.
Result<StorageConfiguration> parse_storage(const std::string& text, const std::string& path);

}  // namespace minke::config
