// Reads a piece of an open file. Blocking. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minke::os {

// Reads all of `size` bytes from `offset` on. Returns false on an error (errno), or an early end (errno 0).
bool read_at(int file, void* to, size_t size, uint64_t offset);

}  // namespace minke::os
