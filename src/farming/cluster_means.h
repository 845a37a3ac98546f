// What a cluster has, and allows this user, for more jobs of a farm: the room on the nodes of its partition,
// the partition's time limit, limits of the association and the QOS, and when a job could start that cannot
// now. What a cluster does not tell stays unknown. One thread; blocking.
#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "farm/sizing.h"
#include "farming/journal.h"

namespace minke::farming {

// For jobs as the farm's request has them, with `cpus` CPUs each (more than 0). Bounds are on all jobs of the
// farm, those that it has among them.
farm::Means cluster_means(engine::Engine& cluster, const Journal& journal, uint32_t cpus);

}  // namespace minke::farming
