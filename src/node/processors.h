// The machine's processors and what they share, as hwloc reads them: sockets, NUMA nodes, last-level caches,
// cores; and the text form of sets of them.
//
// Reads the machine's description (some milliseconds), keeps nothing. Any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace minke::node {

// Numbers as hwloc counts them, from 0 over the whole machine; what the machine does not have, or does not
// tell of, is 0 for all.
struct Processor {
  uint32_t number = 0;  // the kernel's
  int package = 0;      // socket
  int memory = 0;       // NUMA node
  int cache = 0;        // of the third level
  int core = 0;
};

// Those that this process may run on; in no particular order. Empty where hwloc cannot read the machine.
// hwloc's own variables (HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_THISSYSTEM) are heeded.
std::vector<Processor> processors_of_machine();
// Of a machine described in hwloc's words: "pack:2 numa:2 l3:2 core:4 pu:2". Empty: that is no description.
std::vector<Processor> processors_of_description(const std::string& synthetic);

// "0-3,8", as the kernel writes it; what is no list is none.
std::set<uint32_t> parse_cpus(const std::string& list);

}  // namespace minke::node
