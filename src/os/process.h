// A process as the kernel shows it: its number alone may soon be another's. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace minke::os {

struct Process {
  pid_t pid = 0;
  uid_t uid = 0;             // its effective user; root if we may not look
  uint64_t start_ticks = 0;  // since boot
};
// Returns nothing if there is no such process, or it has ended and waits to be reaped.
std::optional<Process> process_of(pid_t pid);
// The same for an open /proc/PID, which stands for one process whoever has its number later.
std::optional<Process> process_in(int directory, pid_t pid);

bool is_stopped(pid_t pid);  // by a signal, or a debugger
// Why a process that should answer cannot, and for how long nobody knows: in words, for a sentence that
// begins with its name. Empty: nothing is known to keep it, or it may not be looked into. Takes up to a
// second.
std::string what_keeps(pid_t pid);

}  // namespace minke::os
