// --mem-bind as Slurm writes it: "verbose,prefer,map_mem:0,1", "quiet,none", "mask_mem:0x1,0x2".
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::text {

struct MemBind {
  enum Kind {
    kUnset,  // nothing but verbose, sort or prefer
    kNone,
    kLocal,  // the memory of the processor that the task runs on
    kRank,   // the task's number on its node is its NUMA node
    kMap,    // one NUMA node a task
    kMask,   // a set of them a task
  };
  Kind kind = kUnset;
  bool verbose = false;
  bool prefer = false;  // use other nodes when that memory is full
  bool sort = false;
  std::string word;                          // as Slurm names the kind: "none", "map_mem:"
  std::string list;                          // as given, of kMap and kMask
  std::vector<std::vector<uint32_t>> nodes;  // of kMap and kMask, by task on the node, used in turn
};

// Fails on a word that Slurm does not know, and on a malformed list. NUMA nodes go up to 4095.
Result<MemBind> parse_mem_bind(std::string_view text);

}  // namespace minke::text
