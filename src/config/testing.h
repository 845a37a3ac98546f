// Shared by tests and fuzz targets that read configurations: the machine of the files, and the invariants of
// every configuration. Only tests include it.
#pragma once

#include <algorithm>

#include "config/configuration.h"
#include "model/cluster.pb.h"

namespace minke::config::testing {

inline model::NodeRecord machine_of_four_cpus() {
  model::NodeRecord machine;
  machine.set_name("here");
  machine.set_cpus(4);
  machine.set_sockets(1);
  machine.set_cores_per_socket(4);
  machine.set_threads_per_core(1);
  machine.set_memory_mib(8000);
  return machine;
}

// It has nodes with CPUs, and one default partition.
inline void check_is_a_cluster(const Configuration& config) {
  MINKE_CHECK(!config.nodes.empty());
  for (const model::NodeRecord& node : config.nodes) MINKE_CHECK(node.cpus() > 0);
  MINKE_CHECK(std::count_if(config.partitions.begin(), config.partitions.end(),
                            [](const auto& partition) { return partition.is_default(); }) == 1);
}

}  // namespace minke::config::testing
