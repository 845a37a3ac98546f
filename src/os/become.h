// Exchanges root's rights for a user's, for good and for the whole process: in a child that was just forked
// to do one thing with a user's files.
#pragma once

#include <sys/types.h>

#include <vector>

namespace minke::os {

// Returns false if any of it was not possible; the caller must end then.
bool become(uid_t uid, gid_t gid, const std::vector<gid_t>& groups);

}  // namespace minke::os
