// minke adopt: puts a login into a running job of its user, or refuses it if there is none. For pam_exec(8),
// which calls it as root from within sshd: processes that sshd starts later, such as the user's shell, are
// then in the job's control group, have the job's resources, and end with it.
#pragma once

#include <string>

namespace minke::helpers {

struct AdoptOptions {
  std::string user;   // empty: PAM_USER
  int pid = 0;        // 0: the caller
  std::string allow;  // members of this group may log in without a job; empty: only root
};

// Returns 0 to admit the login, 1 to refuse it: the reason on standard output reaches the user by `stdout`.
int adopt(const AdoptOptions& options);

}  // namespace minke::helpers
