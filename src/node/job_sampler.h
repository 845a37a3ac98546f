// JobSampler: samples cheaply what each job and the machine use now. A job's numbers come from its control
// groups if it has any, else from the processes that descend from its tasks.
//
// Reads only. Any thread, one at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
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
  std::vector<pid_t> roots;  // its tasks; without a control group their descendants are searched
};

// Totals of running processes. Without groups of version 2, ended processes are missing
// unless their parent waited for them.
struct JobUse {
  uint64_t cpu_milliseconds = 0;
  uint64_t memory_kib = 0;  // without page cache
  uint64_t cache_kib = 0;   // page cache; this and the next of groups alone
  uint64_t shared_kib = 0;  // shared memory and tmpfs, part of memory_kib
  uint64_t read_bytes = 0;  // by read(2) and similar calls
  uint64_t write_bytes = 0;
  uint32_t processes = 0;
  uint32_t threads = 0;
  uint32_t running_threads = 0;   // of the first 2048 of them
  std::set<uint32_t> processors;  // that its processes may run on: of the first 256 of them
};

struct MachineUse {
  uint64_t cpu_milliseconds = 0;  // of all CPUs together, since boot
  uint64_t memory_kib = 0;        // that cannot be reclaimed
  uint64_t total_memory_kib = 0;
  uint64_t energy_microjoules = 0;  // of the processors since this object was made; 0: unknown (RAPL)
  // Since boot: of the network devices (of all interfaces but the loopback's where no device is to be seen),
  // and the busy time of each CPU by its number.
  uint64_t received_bytes = 0, sent_bytes = 0;
  std::map<uint32_t, uint64_t> processor_milliseconds;
};

class JobSampler {
 public:
  // `launcher`: its inventory says where the groups are. `root`: a prefix of /proc and /sys, for tests.
  explicit JobSampler(const Inventory& launcher, std::string root = "");

  // Returns the results in the order of `jobs`.
  std::vector<JobUse> read(const std::vector<SampledJob>& jobs);
  // A job's group by its name below the place of the groups.
  JobUse read_group(const std::string& name);
  MachineUse read_machine();

 private:
  struct Counter {
    std::string file;
    uint64_t range = 0;  // where it wraps around
    uint64_t last = 0;
  };
  void add_process(pid_t pid, bool with_memory_and_time, JobUse& use);
  void add_threads(pid_t pid, JobUse& use);
  void read_network(MachineUse& use);

  std::string root_;
  uint32_t version_ = 0;
  std::string memory_base_;  // version 2: of all controllers; empty: groups do not report memory
  std::string process_base_;
  std::vector<Counter> energy_;
  uint64_t energy_microjoules_ = 0;
};

}  // namespace minke::node
