// Which of a user's groups are projects: those that are no groups of the system. Each has a directory in the
// tiers of groups. Asks the name service; any thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace minke::storage {

struct ProjectGroup {
  std::string name;
  gid_t gid = 0;
  bool is_users = false;  // the group that only the user is in, by its name
};

// `groups`: those that the user has beside the primary one. `patterns`, as "def-*", name the projects; empty:
// all from the first number for users' groups on. The primary group comes first, the others by name; the
// user's own is the last, and is there only if it is the primary one. There is at least one.
std::vector<ProjectGroup> project_groups(const std::string& user, gid_t primary,
                                         const std::vector<gid_t>& groups,
                                         const std::vector<std::string>& patterns);
// The same with names that the caller knows; "": a group without a name.
std::vector<ProjectGroup> project_groups(const std::string& user, gid_t primary,
                                         const std::vector<gid_t>& groups,
                                         const std::vector<std::string>& patterns,
                                         const std::function<std::string(gid_t gid)>& name_of);

}  // namespace minke::storage
