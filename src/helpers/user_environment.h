// The environment of a program that a user has named, and that root starts with the user's rights: nothing of
// root's own. One thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace minke::helpers {

// Gives this process the user's HOME, USER, LOGNAME and SHELL, a PATH with the cluster's commands,
// MINKE_HOME, and nothing else. A process that is not root's, or whose cluster is its user's own, keeps its
// environment, and gets the PATH.
void set_user_environment(uid_t uid, const std::string& home);

}  // namespace minke::helpers
