// The descriptors that a daemon may have open, and the reserve that it keeps.
//
// Descriptors from clients (connections, and those that they pass along) may take all but the reserve. The
// reserve is for the daemon's own work: its database, the programs that it starts, watches. The kernel gives
// the lowest free number, so a descriptor's number is a lower bound of the number of open ones. Any thread.
#pragma once

#include <cstddef>

namespace minke::os {

// Returns how many there may be without the reserve, by the limit at the first call, which comes after
// raise_descriptor_limit() (os/files.h).
size_t spare_descriptors();

// Whether a descriptor that a client brought leaves the reserve untouched.
bool is_spare_descriptor(int fd);

// Whether the next one would do so.
bool has_spare_descriptors();

}  // namespace minke::os
