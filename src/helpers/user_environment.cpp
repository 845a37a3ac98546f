#include "helpers/user_environment.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "os/minke_home.h"

namespace minke::helpers {

void set_user_environment(uid_t uid, const std::string& home) {
  std::string path = os::bin_path(home) + ":/usr/local/bin:/usr/bin:/bin";
  if (::geteuid() == 0 && os::is_shared(home)) {
    ::clearenv();
    ::setenv("MINKE_HOME", home.c_str(), 1);
    if (const passwd* user = ::getpwuid(uid)) {
      ::setenv("HOME", user->pw_dir, 1);
      ::setenv("USER", user->pw_name, 1);
      ::setenv("LOGNAME", user->pw_name, 1);
      ::setenv("SHELL", user->pw_shell, 1);
    }
  } else if (const char* before = std::getenv("PATH")) {
    path = os::bin_path(home) + ":" + before;
  }
  ::setenv("PATH", path.c_str(), 1);
}

}  // namespace minke::helpers
