// Lustre's stripes: distributes large files over several servers, 1 MiB by turns. Needs the program lfs and a
// file system that it knows; elsewhere nothing happens. Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace minke::storage {

// Returns the number of servers for a file of this size: 4 to 8; 1 if it is too small for several to pay.
unsigned stripes_for(uint64_t bytes);

// Makes an empty file with such stripes, if none exists yet and it needs more than one. If that is impossible
// it leaves none, and an ordinary one does.
void make_striped(const std::string& path, uint64_t bytes);

}  // namespace minke::storage
