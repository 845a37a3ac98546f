// What a process uses, as /proc tells: memory now, and processor time, faults and I/O so far. Reads only; any
// thread. A process that is gone, or that may not be looked at, uses nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace minke::node {

struct ProcessUsage {
  uint64_t rss_kib = 0;
  uint64_t virtual_kib = 0;
  // With what the children used that it has waited for.
  uint64_t user_microseconds = 0;
  uint64_t system_microseconds = 0;
  uint64_t major_faults = 0;
  // By read(2), write(2) and the like, whether or not a disk was touched.
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;

  ProcessUsage& operator+=(const ProcessUsage& other);
};

ProcessUsage read_process_usage(pid_t pid);

}  // namespace minke::node
