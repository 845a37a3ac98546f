// What one process uses, from /proc: memory now, and processor time, page faults and I/O so far. Reads only;
// any thread. A process that is gone or not readable counts as using nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace minke::node {

struct ProcessUsage {
  uint64_t rss_kib = 0;
  uint64_t virtual_kib = 0;
  // Including the children that it has waited for.
  uint64_t user_microseconds = 0;
  uint64_t system_microseconds = 0;
  uint64_t major_faults = 0;
  // By read(2), write(2) and similar calls, even if no disk was touched.
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;

  ProcessUsage& operator+=(const ProcessUsage& other);
};

ProcessUsage read_process_usage(pid_t pid);

}  // namespace minke::node
