// Which of the machine's CPUs each job runs on. The scheduler counts CPUs; this gives them their numbers.
//
// A job gets CPUs that no other has, as near to each other as there are: threads of a core, then cores of a
// memory (NUMA node), then of a socket. Where the jobs together have more CPUs than there are (nodes that are
// declared larger than the machine, suspended jobs that lend theirs), those that the fewest have. No I/O but
// in of_machine(); one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace minke::node {

class CpuPool {
 public:
  struct Cpu {
    uint32_t number = 0;
    int package = 0;  // socket
    int core = 0;     // of the socket
    int memory = 0;   // NUMA node
  };
  explicit CpuPool(std::vector<Cpu> cpus);
  // Those that this process may run on. `root`: put before every path, for tests.
  static CpuPool of_machine(const std::string& root = "");

  // Their numbers, ascending; empty where there are not so many.
  std::vector<uint32_t> take(size_t count);
  void give_back(const std::vector<uint32_t>& numbers);

 private:
  struct Slot {
    Cpu cpu;
    uint32_t uses = 0;
  };
  // Of all slots, or of the NUMA node or socket where so many fit most tightly.
  std::vector<Slot*> candidates(size_t count);
  std::vector<Slot> slots_;  // neighbours stand together
};

}  // namespace minke::node
