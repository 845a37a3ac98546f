// CpuPool: chooses which CPUs of the machine each job runs on. The scheduler only counts CPUs.
//
// A job gets unused CPUs that are as close together as possible: threads of a core, then cores that share a
// cache, then a NUMA node, then a socket; among those, CPUs near its GPUs. If jobs have more CPUs in total
// than there are (nodes declared larger than the machine, or suspended jobs that lend theirs), the CPUs with
// the fewest jobs are shared. No I/O; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "node/processors.h"

namespace minke::node {

class CpuPool {
 public:
  explicit CpuPool(std::vector<Processor> processors);

  // Returns their numbers in ascending order; empty if there are too few. `near`: the preferred CPUs.
  std::vector<uint32_t> take(size_t count, const std::set<uint32_t>& near = {});
  void give_back(const std::vector<uint32_t>& numbers);

 private:
  struct Slot {
    Processor cpu;
    uint32_t uses = 0;
  };
  // Returns all slots, or those of the cache, NUMA node or socket where the job fits best.
  std::vector<Slot*> candidates(size_t count, const std::set<uint32_t>& near);
  std::vector<Slot> slots_;  // neighbours are adjacent
};

}  // namespace minke::node
