// What jobs use at a moment, cheaply: from their control groups where they have some, else from the processes
// that descend from what the launcher started. And what the machine uses.
//
// Reads only. Any thread, one at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "os/fd.h"

namespace minke::node {
class Inventory;
}  // namespace minke::node

namespace minke::node {

struct SampledJob {
  uint32_t job_id = 0;
  uint32_t run = 0;
  std::vector<pid_t> roots;  // its tasks: who has no control group of his name is looked for below them
};

// Totals are of what runs; what ended and was not waited for by its parent is missing where there are no
// groups of version 2.
struct JobUse {
  uint64_t cpu_milliseconds = 0;
  uint64_t memory_kib = 0;  // without what the kernel only keeps of files
  uint64_t read_bytes = 0;  // by read(2) and the like
  uint64_t write_bytes = 0;
  uint32_t processes = 0;
};

struct MachineUse {
  uint64_t cpu_milliseconds = 0;  // of all CPUs together, since boot
  uint64_t memory_kib = 0;        // that could not be had for something else
  uint64_t total_memory_kib = 0;
  uint64_t energy_microjoules = 0;  // of the processors, since this object was made; 0: not known (RAPL)
};

class JobSampler {
 public:
  // Where the groups are, as the launcher's inventory says. `root`: put before /proc and /sys, for tests.
  explicit JobSampler(const Inventory& launcher, std::string root = "");

  // By position.
  std::vector<JobUse> read(const std::vector<SampledJob>& jobs);
  MachineUse read_machine();

 private:
  struct Counter {
    std::string file;
    uint64_t range = 0;  // where it begins anew
    uint64_t last = 0;
  };
  JobUse read_group(const std::string& name);
  void add_process(pid_t pid, bool with_memory_and_time, JobUse& use);

  std::string root_;
  uint32_t version_ = 0;
  std::string memory_base_;  // of version 2: of all controllers; empty: groups do not tell of memory
  std::string process_base_;
  std::vector<Counter> energy_;
  uint64_t energy_microjoules_ = 0;
};

}  // namespace minke::node
