// The machine's processors and what they share, read with hwloc: sockets, NUMA nodes, last-level caches and
// cores. Also parses the kernel's lists of CPUs.
//
// Reads the machine's description (some milliseconds) and keeps nothing. Any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace minke::node {

// hwloc's logical indices, from 0 over the whole machine. If the machine does not have or does not report a
// level, its index is 0 for all.
struct Processor {
  uint32_t number = 0;  // the kernel's number
  int package = 0;      // socket
  int memory = 0;       // NUMA node
  int cache = 0;        // level 3
  int core = 0;
};

// The processors that this process may run on, in no particular order. Empty if hwloc cannot read the
// machine. hwloc's own variables (HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_THISSYSTEM) are respected.
std::vector<Processor> processors_of_machine();
// Those of a machine in hwloc's synthetic notation, "pack:2 numa:2 l3:2 core:4 pu:2". Empty: bad notation.
std::vector<Processor> processors_of_description(const std::string& synthetic);

// Parses a kernel list, "0-3,8". A malformed list gives an empty set.
std::set<uint32_t> parse_cpus(const std::string& list);

}  // namespace minke::node
