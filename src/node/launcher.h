// The launcher: a small process that is the parent of all job processes. It
// only spawns, reaps and remembers.
//
// The daemon decides and the launcher acts. They talk over a socket in the cluster's home
// (node/launch.proto). The daemon may die, be upgraded and come back at any time while jobs run on. What
// happened meanwhile is in the inventory, which a daemon always asks for and gets first.
//
// Invariants
// - Exactly once. An order with a known LaunchId (it runs, or ended and is not collected) is never started
//   again; the answer is what is known. A launch is in the journal before its first fork (node/journal.h),
//   so that not even a killed launcher forgets it.
// - Nothing is sent before the inventory, and everything that happens after it is sent. So the daemon's
//   picture is the inventory plus the later events.
// - An end is kept until it is collected. While no daemon is connected, the launcher syncs ends to disk; a
//   connected daemon commits them itself.
// - Nothing outlives its job. The launcher is a child subreaper, so a process that daemonises becomes
//   its child. When a job ends, all its processes are killed, then its temporary directory is removed,
//   then the end is reported. Processes carry a marker in their environment (kLaunchMarker), so that
//   they are found even after the launcher died. Launches that ran are then `lost`, which is reported
//   once no process is left of them.
// - The launcher never waits: not for users' files (node/spawn.h), not for a process that does not die,
//   and not until a directory is empty.
// - One launcher per home (a lock), one daemon per launcher (a new one
//   replaces the old), both of one user.
// - Idle means idle: no timer runs unless processes are being cleared away.
#pragma once

#include <string>

namespace minke::node {

// The variable that all processes of a job inherit: <home>/<job id>.<run>. It must not be in a daemon's
// environment, because a daemon that was started from within a job does not belong to the job.
inline constexpr char kLaunchMarker[] = "MINKE_LAUNCH";

struct LauncherOptions {
  std::string home;                   // contains launcher.sock, launcher.journal and launcher.lock
  bool use_kernel_child_list = true;  // false: act as on a kernel without the list, for tests
};

inline constexpr int kLauncherStopped = 0;  // it was told to stop
inline constexpr int kLauncherFailed = 1;   // the reason is on standard error
inline constexpr int kLauncherExists = 3;   // another launcher serves this home

// Runs until it is told to stop, and returns one of the codes above. It stays in the foreground; the caller
// has put it into its own session. It prints "ready" on standard output, and closes that, once a daemon can
// connect; it logs to standard error.
int run_launcher(const LauncherOptions& options);

std::string launcher_socket_path(const std::string& home);
std::string launcher_journal_path(const std::string& home);

// The part of a marker that identifies the home.
std::string launcher_home_id(const std::string& home);

}  // namespace minke::node
