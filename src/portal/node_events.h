// Times in which nodes could not be used, as the pages tell them: those that the cluster has kept; of one
// that keeps none, those that nodes are in now. Blocking; a worker's thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "view/node_events.h"

namespace minke::engine {
class Engine;
}  // namespace minke::engine

namespace minke::portal {

// Of these nodes (empty: all), what was between these times (s since the epoch). The newest first. Empty,
// too, where the cluster does not tell.
std::vector<view::NodeEvent> events_of_nodes(engine::Engine& cluster, const std::set<std::string>& names,
                                             int64_t from, int64_t until);

}  // namespace minke::portal
