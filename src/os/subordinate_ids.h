// The user ids that a user may use besides their own, in their namespaces (subuid(5)). They have no name
// and no log-in: a process with one of them is not a user of the machine, but in a container of its
// owner's. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace minke::os {

// Reads only the files: entries that only a name service knows are not found.
bool is_subordinate(uid_t uid, const std::string& file = "/etc/subuid");

}  // namespace minke::os
