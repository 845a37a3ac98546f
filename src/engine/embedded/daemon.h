// minked: the process that owns one cluster. Opens the store, recovers, meets the launcher, opens the door,
// and stops in order. Killing it at any instant is allowed: the next one takes up from the store and the
// launcher's inventory.
#pragma once

#include <string>

namespace minke::engine {

struct DaemonOptions {
  std::string home;
  std::string config_path;      // empty: where it usually is, whenever it is read (os::configuration_path)
  bool leave_job = false;       // it was started from within a job, which it must not be of
  bool await_launcher = false;  // somebody else starts the launcher, and starts it again when it ends
  bool ask_helper_starter = false;  // it starts what this process would (os/helper_starter.h)
  bool stub_launch = false;         // jobs are not run: every launch ends at once. For measuring.
  bool sync = true;                 // false: commits are not synced. For measuring.
};

constexpr int kDaemonStopped = 0;
constexpr int kDaemonFailed = 1;  // said on standard output and in the log
constexpr int kDaemonExists = 3;  // another one serves this home

// Runs until it is told to stop. Writes "ready", "busy", or why it cannot start, as one line to standard
// output, and closes it.
int run_daemon(const DaemonOptions& options);

}  // namespace minke::engine
