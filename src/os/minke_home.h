// Where a cluster keeps everything it has: its home. Another MINKE_HOME is another, independent cluster.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::os {

// $MINKE_HOME, or $XDG_STATE_HOME/minke, or ~/.local/state/minke; absolute. Made (0700) where it is not
// there. Errors: not a directory, not writable, belongs to somebody else.
Result<std::string> minke_home();

// $MINKE_CONFIG, or minke.toml in the home where there is one, or empty.
std::string configuration_path(const std::string& home);

inline std::string socket_path(const std::string& home) {
  return home + "/minked.sock";
}
inline std::string pid_path(const std::string& home) {
  return home + "/minked.pid";
}
inline std::string lock_path(const std::string& home) {
  return home + "/minked.lock";
}
inline std::string log_path(const std::string& home) {
  return home + "/minked.log";
}
inline std::string database_path(const std::string& home) {
  return home + "/minke.db";
}
inline std::string bin_path(const std::string& home) {
  return home + "/bin";
}

}  // namespace minke::os
