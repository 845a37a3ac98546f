#include "os/read_at.h"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

namespace minke::os {

bool read_at(int file, void* to, size_t size, uint64_t offset) {
  for (size_t have = 0; have < size;) {
    const ssize_t got =
        ::pread(file, static_cast<char*>(to) + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = 0;
    if (got <= 0) return false;
    have += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace minke::os
