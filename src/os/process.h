// A process as the kernel shows it: its number alone is soon another's. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace minke::os {

struct Process {
  pid_t pid = 0;
  uid_t uid = 0;             // its effective user; root where it may not be looked into
  uint64_t start_ticks = 0;  // since boot
};
// None: there is no such process, or it has ended and waits to be reaped.
std::optional<Process> process_of(pid_t pid);
// The same of an open /proc/PID, which stands for one process whoever has its number later.
std::optional<Process> process_in(int directory, pid_t pid);

}  // namespace minke::os
