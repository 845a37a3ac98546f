// [storage] of the configuration: the tiers that commands show (storage/tiers.h). The daemon itself only checks it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "storage/tiers.h"

namespace minke::engine {

class Table;

struct StorageConfiguration {
  std::string profile;  // empty: no tiers
  std::string root;     // empty: storage/ in the cluster's home; "/" as it is
};
StorageConfiguration read_storage(Table& table);

// The tiers that a configuration asks for; `home`: the cluster's. Errors name file, line and what was expected.
Result<std::vector<storage::Tier>> configured_tiers(const std::string& text, const std::string& path,
                                                    const std::string& home);

}  // namespace minke::engine
