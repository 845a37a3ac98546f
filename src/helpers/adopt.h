// minke adopt: puts a login into a running job of its user, or refuses it where there is none. For
// pam_exec(8), which calls it as root from within sshd: what that process starts later, the user's shell, is
// in the job's control group then, has what the job has, and ends with it.
#pragma once

#include <string>

namespace minke::helpers {

struct AdoptOptions {
  std::string user;   // empty: PAM_USER
  int pid = 0;        // 0: the caller
  std::string allow;  // a group whose members may log in without a job; empty: none but root
};

// 0: it may go on. 1: it may not, and why is on standard output, which pam_exec's `stdout` shows to the user.
int adopt(const AdoptOptions& options);

}  // namespace minke::helpers
