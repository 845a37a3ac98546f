#include "os/become.h"

#include <grp.h>
#include <unistd.h>

namespace minke::os {

bool become(uid_t uid, gid_t gid, const std::vector<gid_t>& groups) {
  return ::setgroups(groups.size(), groups.data()) == 0 && ::setresgid(gid, gid, gid) == 0 &&
         ::setresuid(uid, uid, uid) == 0;
}

}  // namespace minke::os
