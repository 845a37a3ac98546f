// What this machine is and offers, as far as this process may use it. Asked at every start, so that a changed
// machine changes what is offered and nothing else.
//
// Reads /proc, /sys and system calls only. Any thread. Nothing here fails: what cannot be found out has its
// least value (1 CPU, 0 MiB, an empty string).
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
  std::string tmp = "/tmp";  // whose file system's size is the node's TmpDisk
  // The logical CPUs this process may run on; absent: asked from the kernel.
  std::optional<std::vector<uint32_t>> affinity;
};

// Fills name, address, host_name (the short one), cpus, boards, sockets, cores_per_socket, threads_per_core,
// memory_mib, tmp_disk_mib, architecture, os, boot_time, cpu_load and free_memory_mib.
// - CPUs: the affinity, cut to the control groups' CPU sets and whole CPUs of their quotas; at least 1.
//   sockets * cores_per_socket * threads_per_core is always the number of CPUs: where the CPUs left make no
//   regular grid they are shown as cores of one socket.
// - Memory: the machine's, or a control group's limit where that is less.
model::NodeRecord discover_machine(const DiscoveryOptions& options = {});

// Brings cpu_load and free_memory_mib up to date; cheap.
void refresh_load(model::NodeRecord& node, const DiscoveryOptions& options = {});

}  // namespace minke::node
