// A user's files, read with that user's rights. Blocking; for programs of one thread (a child is forked).
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace minke::os {

// The last `bytes` bytes of a regular file, or all of it. Where this process is root and the user is not, a
// child with the user's rights reads it, so that root opens no path of a user's. Errors: errno; what is no
// regular file is one; ETIMEDOUT: a file that does not answer within seconds.
Result<std::string> read_tail_as(uid_t uid, gid_t gid, const std::string& path, size_t bytes);

// Makes this process the user's for good, with the groups that he has (os/become.h); one that is not root's
// stays as it is. False: the caller must end.
bool become_user(uid_t uid, gid_t gid);

}  // namespace minke::os
