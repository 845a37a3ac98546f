// The places of a cluster's software, below its home.
#pragma once

#include <string>

namespace minke::software {

inline std::string software_path(const std::string& home) {
  return home + "/software";
}
// Module files that `minke software scan` writes; the next scan replaces all of it.
inline std::string modules_path(const std::string& home) {
  return software_path(home) + "/modules";
}
// Module files of administrators, NAME/VERSION.lua; nothing here is ever changed.
inline std::string local_modules_path(const std::string& home) {
  return software_path(home) + "/local";
}
// Directories of links that scanned modules put on PATH.
inline std::string programs_path(const std::string& home) {
  return software_path(home) + "/programs";
}
// Lmod's own settings: SitePackage.lua and lmodrc.lua.
inline std::string lmod_settings_path(const std::string& home) {
  return software_path(home) + "/lmod";
}
// The initial code of shells and jobs: sh, csh; the daemon reads job_environment.
inline std::string init_path(const std::string& home) {
  return software_path(home) + "/init";
}
// What bash reads in jobs (BASH_ENV) where no modules are set up.
inline constexpr char kLoginShellFile[] = "/login-shell.sh";
inline std::string login_shell_path(const std::string& home) {
  return home + kLoginShellFile;
}
inline std::string aliases_path(const std::string& home) {
  return software_path(home) + "/aliases";
}
// The results of the last scan: lines NAME/VERSION, a tab, the program's path.
inline std::string found_path(const std::string& home) {
  return software_path(home) + "/found";
}
// Python's wheels: index/ has them by name, store/ the same files by the SHA-256 of their content.
inline std::string wheels_path(const std::string& home) {
  return software_path(home) + "/wheels";
}
// Earlier installations, in a directory for each user.
inline std::string wheel_cache_path(const std::string& home) {
  return software_path(home) + "/cache";
}

}  // namespace minke::software
