#include "engine/embedded/config_storage.h"

#include <sstream>

#include "engine/embedded/config_table.h"

namespace minke::engine {

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
  return storage;
}

Result<std::vector<storage::Tier>> configured_tiers(const std::string& text, const std::string& path,
                                                    const std::string& home) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    std::ostringstream where;
    where << path << ":" << parsed.error().source().begin.line << ": " << parsed.error().description();
    return failure(where.str());
  }
  const toml::table* section = parsed.table()["storage"].as_table();
  if (section == nullptr) return std::vector<storage::Tier>{};
  Table table(*section, path, "[storage]");
  const StorageConfiguration read = read_storage(table);
  if (const Status finished = table.finish(); !finished) return failure(finished.error());
  const std::string root = read.root.empty() ? home + "/storage" : read.root == "/" ? "" : read.root;
  return storage::profile_tiers(read.profile, root).value_or(std::vector<storage::Tier>{});
}

}  // namespace minke::engine
