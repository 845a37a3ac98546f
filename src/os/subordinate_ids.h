// The user ids that a user may use besides his own, in namespaces of his (subuid(5)). They have no name and
// no log-in: who comes with one of them is no user of the machine, but in a container of its owner's. Any
// thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace minke::os {

// By the files alone: what only a name service knows of is not found.
bool is_subordinate(uid_t uid, const std::string& file = "/etc/subuid");

}  // namespace minke::os
