// Reads a user's files with that user's rights. Blocking; for programs of one thread (a child is forked).
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace minke::os {

// Returns the last `bytes` bytes of a regular file, or all of it. If this process is root and the user is
// not, a child with the user's rights reads it, so that root opens no path of a user. Fails with errno, also
// if it is not a regular file, and with ETIMEDOUT if it does not answer within seconds.
Result<std::string> read_tail_as(uid_t uid, gid_t gid, const std::string& path, size_t bytes);

// Makes this process the user's for good, with the user's groups (os/become.h); a process that is not root's
// stays as it is. If it returns false, the caller must end.
bool become_user(uid_t uid, gid_t gid);

}  // namespace minke::os
