// A piece of a file, wherever it is open. Blocking. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minke::os {

// All of `size` bytes from `offset` on. False: it cannot be read (errno), or ends before (errno 0).
bool read_at(int file, void* to, size_t size, uint64_t offset);

}  // namespace minke::os
