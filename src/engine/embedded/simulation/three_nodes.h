// The cluster that requests are tested on: three nodes with two GPUs each on one machine, a partition of all
// of them and one of the first alone, and users of whom each has his own jobs.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/configuration.h"

namespace minke::engine::simulation {

// `settings`: more of minke.toml, before its tables; `tables`: after them. Errors: as the daemon's.
Result<config::Configuration> three_nodes(const std::string& home, std::string_view settings,
                                          std::string_view tables);

}  // namespace minke::engine::simulation
