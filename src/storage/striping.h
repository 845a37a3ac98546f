// Lustre's stripes: large files over several of its servers, 1 MiB by turns. Where the program lfs is
// installed and the file system is one that it knows; elsewhere nothing happens. Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace minke::storage {

// Over how many servers a file of this size belongs: 4 to 8; 1 where it is too small for several to pay.
unsigned stripes_for(uint64_t bytes);

// Makes an empty file with such stripes, where there is none yet and it is to have more than one. Where that
// is not possible there is none after it either, and an ordinary one does.
void make_striped(const std::string& path, uint64_t bytes);

}  // namespace minke::storage
