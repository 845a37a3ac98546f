// Discovers what this machine is and offers, as far as this process may use it. The daemon runs it at every
// start, so that a changed machine changes only what is offered.
//
// Reads /proc, /sys and system calls only. Any thread. Nothing here fails: a value that cannot be found out
// gets its minimum (1 CPU, 0 MiB, an empty string).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.pb.h"

namespace minke::node {

struct DiscoveryOptions {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string tmp = "/tmp";  // the size of its file system is the node's TmpDisk
  // The logical CPUs that this process may run on; absent: the kernel is asked.
  std::optional<std::vector<uint32_t>> affinity;
};

// Fills name, address, host_name (the short one), cpus, boards, sockets, cores_per_socket, threads_per_core,
// memory_mib, tmp_disk_mib, architecture, os, boot_time, cpu_load and free_memory_mib.
// - CPUs: the affinity, reduced to the control groups' CPU sets and whole CPUs of their quotas; at least 1.
//   sockets * cores_per_socket * threads_per_core always equals the number of CPUs. If the CPUs are no
//   regular grid, they are shown as cores of one socket.
// - Memory: that of the machine, or a control group's limit if it is less.
model::NodeRecord discover_machine(const DiscoveryOptions& options = {});

// Updates cpu_load and free_memory_mib. Cheap.
void refresh_load(model::NodeRecord& node, const DiscoveryOptions& options = {});

}  // namespace minke::node
