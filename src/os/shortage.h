// Errors that are not the request's fault: the machine has no room, no descriptors, processes or memory, or
// no disk that answers, at the moment. A failed operation should be tried again.
#pragma once

#include <cerrno>

namespace minke::os {

constexpr bool is_shortage(int error_number) {
  switch (error_number) {
    case ENOSPC:  // blocks or inodes
    case EDQUOT:
    case EROFS:  // a disk is mounted so after an error
    case EIO:    // until the disk answers again, or is replaced
    case EMFILE:
    case ENFILE:
    case EAGAIN:  // processes
    case ENOMEM:
      return true;
    default:
      return false;
  }
}

}  // namespace minke::os
