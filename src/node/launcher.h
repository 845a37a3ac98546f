// The launcher: a small process that is the parent of all job processes. It only spawns, reaps and remembers.
//
// The daemon decides, the launcher does; they talk over a socket in the cluster's home (node/launch.proto).
// The daemon may die, be upgraded and come back at any time: jobs run on, and what happened meanwhile is in
// the inventory, which is always the first thing that a daemon asks for and gets.
//
// Invariants
// - Exactly once. An order whose LaunchId is known (runs, or ended and not collected) is never started again:
//   it is answered with what is known. A launch is in the journal before its first fork (node/journal.h), so
//   that not even a killed launcher forgets it.
// - Nothing is sent before the inventory, and everything that happens after it is: a daemon's picture is the
//   inventory and what followed.
// - An end is kept until it is collected. While no daemon is connected ends are synced to disk; while one is,
// it
//   commits them itself.
// - Nothing outlives its job. A process that daemonises becomes the launcher's child (it is a child
// subreaper), and
//   when the job ends everything of it is killed, then its temporary directory removed, then the end is told.
//   Processes carry a marker in their environment (kLaunchMarker), so that they are found even after the
//   launcher died: then those that ran are `lost`, told as soon as nothing of them is left.
// - The launcher never waits: not for users' files (node/spawn.h), not for a process that does not die, not
// for a
//   directory to be emptied.
// - One launcher a home (a lock), one daemon a launcher (a new one replaces the old), and both of one user.
// - Idle is idle: without processes being cleared away no timer runs.
#pragma once

#include <string>

namespace minke::node {

// The variable that all processes of a job inherit: <home>/<job id>.<run>. Whoever starts a daemon must take
// it out of the daemon's environment first: a daemon that was started from within a job is not of the job.
inline constexpr char kLaunchMarker[] = "MINKE_LAUNCH";

struct LauncherOptions {
  std::string home;  // directory: launcher.sock, launcher.journal and launcher.lock are in it
  bool use_kernel_child_list = true;  // false: as on a kernel without it, for tests
};

inline constexpr int kLauncherStopped = 0;  // it was asked to
inline constexpr int kLauncherFailed = 1;   // said on standard error
inline constexpr int kLauncherExists = 3;   // another one serves this home

// Runs until it is told to stop; returns one of the above. In the foreground: its caller has put it into a
// session of its own. Says "ready" on standard output, and closes it, once a daemon can connect; logs to
// standard error.
int run_launcher(const LauncherOptions& options);

std::string launcher_socket_path(const std::string& home);
std::string launcher_journal_path(const std::string& home);

// The part of a marker that is the home's.
std::string launcher_home_id(const std::string& home);

}  // namespace minke::node
