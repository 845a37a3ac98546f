// --cpu-bind as Slurm writes it: "verbose,map_cpu:0,2", "quiet,none", "mask_cpu:0x3,0xc".
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::text {

struct CpuBind {
  enum Kind {
    kUnset,  // nothing but verbose or quiet
    kNone,
    kRank,      // the task's number on its node is its CPU
    kMap,       // one CPU a task
    kMask,      // a set of CPUs a task
    kTopology,  // sockets, cores, threads, ldoms and what hangs on them: left to the kernel here
  };
  Kind kind = kUnset;
  bool verbose = false;
  std::string word;                         // as Slurm names the kind: "none", "map_cpu:"
  std::string list;                         // as given, of kMap and kMask
  std::vector<std::vector<uint32_t>> cpus;  // of kMap and kMask, by task on the node, used in turn
};

// Fails on a word that Slurm does not know, and on a malformed list. CPUs go up to 4095.
Result<CpuBind> parse_cpu_bind(std::string_view text);

// As srun tells it: "verbose,map_cpu", "cores", "(null type)".
std::string cpu_bind_type(const CpuBind& bind);

// "0x5" of {0, 2}: Slurm's form of a mask.
std::string format_cpu_mask(const std::vector<uint32_t>& cpus);

}  // namespace minke::text
