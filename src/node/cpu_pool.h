// Which of the machine's CPUs each job runs on. The scheduler counts CPUs; this gives them their numbers.
//
// A job gets CPUs that no other has, as near to each other as there are: threads of a core, then cores that
// share a cache, then a memory (NUMA node), then a socket; and of those the ones near its GPUs. Where the
// jobs together have more CPUs than there are (nodes that are declared larger than the machine, suspended
// jobs that lend theirs), those that the fewest have. No I/O; one thread.
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

  // Their numbers, ascending; empty where there are not so many. `near`: which are preferred.
  std::vector<uint32_t> take(size_t count, const std::set<uint32_t>& near = {});
  void give_back(const std::vector<uint32_t>& numbers);

 private:
  struct Slot {
    Processor cpu;
    uint32_t uses = 0;
  };
  // Of all slots, or of those of the cache, NUMA node or socket where they fit best.
  std::vector<Slot*> candidates(size_t count, const std::set<uint32_t>& near);
  std::vector<Slot> slots_;  // neighbours stand together
};

}  // namespace minke::node
