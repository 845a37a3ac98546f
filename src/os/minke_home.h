// The home of a cluster has everything that belongs to it. Another MINKE_HOME is an independent cluster.
//
// A shared home serves all users of the machine: it belongs to root, who has marked it (mark_shared), and its
// daemon runs as root. Others may pass through it, and read only what is meant for them.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::os {

inline constexpr char kSharedHome[] = "/var/lib/minke";
inline constexpr char kSharedSocketDirectory[] = "/run/minke";  // of kSharedHome
inline constexpr char kSharedConfiguration[] = "/etc/minke.toml";

// Whether root has marked this home's cluster as open to everybody.
bool is_shared(const std::string& home);
// Makes it, and marks it. For root.
Status mark_shared(const std::string& home);

// Returns $MINKE_HOME, or kSharedHome if that is shared, or $XDG_STATE_HOME/minke, or ~/.local/state/minke;
// absolute. Makes it (0700) if it is missing. Fails if it is not a directory, not writable, or belongs to
// another user and is not shared.
Result<std::string> minke_home();

// Returns where that is, or would be. Makes nothing, and does not look whose it is.
std::string minke_home_path();

// Returns the directory for what is the whole machine's, with a cluster of Minke's or without: $MINKE_HOME if
// it is root's and nobody else may write to it, else kSharedHome. It need not be there, nor be marked as
// shared.
std::string site_home();

// Returns $MINKE_CONFIG, or the home's minke.toml (kSharedHome: kSharedConfiguration) if it exists, or empty.
std::string configuration_path(const std::string& home);

// A configuration in Slurm's words, which is also read if it exists.
inline std::string slurm_conf_path(const std::string& home) {
  return home + "/slurm.conf";
}
inline std::string socket_path(const std::string& home) {
  return (home == kSharedHome ? std::string(kSharedSocketDirectory) : home) + "/minked.sock";
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
