// Machines for the tests of this room.
#pragma once

#include "grow/slurm_files.h"

namespace minke::grow {

inline Machine machine_named(const std::string& name, const std::string& host) {
  Machine machine;
  machine.name = name;
  machine.host = host;
  machine.address = host.empty() ? "10.0.0.1" : "10.0.0.2";
  machine.system_id = "debian";
  machine.services = "systemd";
  machine.control_groups = 2;
  machine.cpus = 8;
  machine.cores = 4;
  machine.sockets = 2;
  machine.memory_mib = 16000;
  machine.tmp_mib = 9000;
  machine.packages["slurmd"] = {"", "24.11.5-4"};
  return machine;
}

inline Grown grown_of(std::vector<Machine> machines) {
  Grown grown;
  grown.machines = std::move(machines);
  grown.control_groups = have_control_groups(grown.machines);
  grown.password = "secret";
  model::PartitionRecord partition;
  partition.set_name("main");
  partition.set_nodes("box");
  partition.set_is_default(true);
  partition.set_max_time_minutes(4294967295);
  partition.set_max_nodes(4294967295);
  partition.set_priority_tier(1);
  partition.set_priority_job_factor(1);
  grown.partitions.push_back(partition);
  return grown;
}

inline config::Configuration configuration_of_box() {
  config::Configuration config;
  config.home = "/var/lib/minke";
  config.cluster_name = "lab";
  model::NodeRecord node;
  node.set_name("box");
  node.set_memory_mib(15000);
  node.set_weight(1);
  config.nodes.push_back(node);
  return config;
}

}  // namespace minke::grow
