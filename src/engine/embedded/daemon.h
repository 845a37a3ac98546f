// minked: the daemon process that owns one cluster. It opens the store, recovers, connects to the launcher,
// admits clients, and stops in order. It may be killed at any instant: the next daemon continues from the
// store and the launcher's inventory.
#pragma once

#include <string>

namespace minke::engine {

struct DaemonOptions {
  std::string home;
  std::string config_path;      // empty: the usual place, searched at each reading (os::configuration_path)
  bool leave_job = false;       // it was started from within a job and must leave it
  bool await_launcher = false;  // somebody else starts the launcher, and restarts it when it ends
  bool ask_helper_starter = false;  // helpers are started by another process (os/helper_starter.h)
  bool stub_launch = false;         // jobs do not run: every launch ends at once. For measurements
  bool sync = true;                 // false: commits are not synced. For measurements
};

constexpr int kDaemonStopped = 0;
constexpr int kDaemonFailed = 1;  // the reason is on standard output and in the log
constexpr int kDaemonExists = 3;  // another daemon serves this home

// Runs until it is told to stop. Writes one line to standard output ("ready", "busy", or why
// it cannot start) and closes it.
int run_daemon(const DaemonOptions& options);

}  // namespace minke::engine
