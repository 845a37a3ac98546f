#include "config/storage.h"

#include <sstream>

#include "config/table.h"
#include "storage/words.h"

namespace minke::config {

namespace {

// A soft limit alone is also the hard one.
template <typename Limits>
void read_limits(Table& table, Limits& limits) {
  const auto bytes = [&](std::string_view key, uint64_t& value) {
    table.text(key, [&](const std::string& given) -> Status {
      value = storage::parse_bytes(given);
      if (value == 0) return failure("must be a size, as \"500G\"");
      return {};
    });
  };
  const auto files = [&](std::string_view key, uint64_t& value) {
    table.number(key, 1, int64_t{1} << 50, [&](int64_t v) { value = static_cast<uint64_t>(v); });
  };
  uint64_t space = 0, count = 0;
  bytes("space", space);
  files("files", count);
  if (space != 0) limits.space = limits.hard_space = space;
  if (count != 0) limits.files = limits.hard_files = count;
  bytes("hard_space", limits.hard_space);
  files("hard_files", limits.hard_files);
}

void check_limits(Table& table, const storage::Tier& tier, const std::string& section) {
  if (table.finish() && (tier.hard_space < tier.space || tier.hard_files < tier.files))
    table.fail(table.table(), section, "has a hard limit below the soft one");
}

// [storage.project.groups.NAME]: limits of one group.
void read_groups(Table& table, storage::Tier& tier) {
  std::vector<std::string> names;
  for (const auto& [name, node] : table.table()) names.emplace_back(name.str());
  for (const std::string& name : names)
    table.sub_table(name, [&](Table& section) {
      clusters::GroupLimits limits;
      limits.group = name;
      read_limits(section, limits);
      tier.group_limits.push_back(limits);
      check_limits(section, storage::tier_for_group(tier, name),
                   "[storage." + tier.name + ".groups." + name + "]");
    });
}

// [storage.scratch]: limits of this cluster that differ from the profile's.
void read_tier(Table& table, storage::Tier& tier) {
  read_limits(table, tier);
  table.boolean("backup", [&](bool v) { tier.backed_up = v; });
  table.text("in_jobs", [&](const std::string& given) -> Status {
    if (given != "yes" && given != "read-only" && given != "no")
      return failure("must be \"yes\", \"read-only\" or \"no\"");
    tier.in_jobs = given == "yes"  ? storage::InJobs::kYes
                   : given == "no" ? storage::InJobs::kNo
                                   : storage::InJobs::kReadOnly;
    return {};
  });
  table.number("purge_days", 1, 36500, [&](int64_t v) { tier.purge_days = static_cast<uint32_t>(v); });
  if (tier.of_group) table.sub_table("groups", [&](Table& groups) { read_groups(groups, tier); });
  check_limits(table, tier, "[storage." + tier.name + "]");
}

}  // namespace

StorageConfiguration read_storage(Table& table) {
  StorageConfiguration storage;
  table.text("profile", [&](const std::string& given) -> Status {
    if (storage::profile_tiers(given, "")) {
      storage.profile = given;
      return {};
    }
    std::string known;
    for (const std::string_view name : storage::profile_names())
      known.append(known.empty() ? "" : ", ").append(name);
    return failure("must be one of " + known);
  });
  table.text("root", [&](const std::string& given) -> Status {
    if (given.empty() || given.front() != '/') return failure("must be an absolute path");
    storage.root = given;
    return {};
  });
  storage.below_root = storage::profile_tiers(storage.profile, "").value_or(std::vector<storage::Tier>{});
  for (storage::Tier& tier : storage.below_root) {
    if (tier.of_job) continue;
    table.sub_table(tier.name, [&](Table& section) { read_tier(section, tier); });
  }
  table.text("keeper", [&](const std::string& given) -> Status {
    if (given.empty() || given.find_first_of("/ ,[]") != std::string::npos)
      return failure("must be the name of one machine");
    storage.keeper = given;
    return {};
  });
  table.texts("project_groups", [&](const std::string& given) -> Status {
    if (given.empty()) return failure("must have names of groups, as \"def-*\"");
    storage.project_groups.push_back(given);
    return {};
  });
  table.boolean("hold_jobs", [&](bool v) { storage.hold_jobs = v; });
  table.minutes("grace", [&](uint32_t minutes) { storage.grace_minutes = minutes; });
  table.number("count_interval", 1, 86400 * 30,
               [&](int64_t v) { storage.count_seconds = static_cast<uint32_t>(v); });
  table.text("cache_quota", [&](const std::string& given) -> Status {
    // For the server of staged data, which reads it itself (config_helpers.h).
    if (storage::parse_bytes(given) == 0) return failure("must be a size, as \"500G\"");
    return {};
  });
  table.boolean("purge", [&](bool v) { storage.purge = v; });
  table.boolean("snapshots", [&](bool v) { storage.snapshots = v; });
  table.text("snapshot_free", [&](const std::string& given) -> Status {
    const auto reserve = storage::parse_reserve(given);
    if (!reserve) return failure("must be a part of the disk, as \"5%\", or a size, as \"500G\"");
    storage.snapshot_free = *reserve;
    return {};
  });
  return storage;
}

std::vector<storage::Tier> StorageConfiguration::tiers(const std::string& home) const {
  const std::string below = root.empty() ? home + "/storage" : root == "/" ? "" : root;
  std::vector<storage::Tier> tiers = below_root;
  for (storage::Tier& tier : tiers)
    if (!tier.path.empty() && !tier.of_node) tier.path = below + tier.path;
  return tiers;
}

Result<StorageConfiguration> parse_storage(const std::string& text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    std::ostringstream where;
    where << path << ":" << parsed.error().source().begin.line << ": " << parsed.error().description();
    return failure(where.str());
  }
  const toml::table* section = parsed.table()["storage"].as_table();
  if (section == nullptr) return StorageConfiguration{};
  Table table(*section, path, "[storage]");
  StorageConfiguration read = read_storage(table);
  if (const Status finished = table.finish(); !finished) return failure(finished.error());
  return read;
}

}  // namespace minke::config
