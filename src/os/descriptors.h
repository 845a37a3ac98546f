// The descriptors that a daemon may have open, and the reserve that it keeps.
//
// What clients bring (connections, descriptors that they pass along) may take all but the reserve. That is
// for the daemon's own work: its database, the programs that it starts, watches. The kernel gives the lowest
// number that is free, so a descriptor's number tells how many are open at least. Any thread.
#pragma once

#include <cstddef>

namespace minke::os {

// How many there may be, the reserve left out; of the limit as it was when this was first asked, which is
// after raise_descriptor_limit() (os/files.h).
size_t spare_descriptors();

// Whether a descriptor that a client brought leaves the reserve alone.
bool is_spare_descriptor(int fd);

// Whether the next one would.
bool has_spare_descriptors();

}  // namespace minke::os
