// The cluster for tests of requests: three nodes with two GPUs each on one machine, a partition of all nodes
// and one of only the first, and several users.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/configuration.h"

namespace minke::engine::simulation {

// `settings`: lines of minke.toml before its tables; `tables`: lines after them. Errors: those of the daemon.
Result<config::Configuration> three_nodes(const std::string& home, std::string_view settings,
                                          std::string_view tables);

}  // namespace minke::engine::simulation
