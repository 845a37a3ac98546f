// A worker's keeper: the process that started it, and outlives it. Whatever ends a worker, nothing of its
// cases runs on while others run them again. One thread; blocking; signals are taken over meanwhile.
//
// What must hold:
//  - The kernel ends a case's own process with the worker (farming/case_process.h).
//  - What that process had started becomes the keeper's, and the keeper ends it: it is a subreaper.
//  - Where the keeper dies first, the worker hears of it (kKeeperDied), ends all of its own, and itself.
//  - The worker's locks are the keeper's, too: the worker counts as alive until nothing of it is left.
// Only who kills both in the same moment leaves something behind, for the cluster to clear away with the job.
#pragma once

#include <signal.h>

#include <functional>
#include <string>

#include "base/result.h"

namespace minke::farming {

// Others may send it, too: then the worker's parent is the same as before.
inline constexpr int kKeeperDied = SIGUSR2;

// Runs `work` in a child of this process and returns what it returned, at most 60 KiB. Signals that ask a
// worker to end are passed on. Error: the child was killed, or could not be started.
Result<std::string> run_kept(const std::function<std::string()>& work);

// Kills all descendants of this process, which is a subreaper, and waits for their ends: 10 s at most, for
// what another user's rights or a broken device keep.
void end_descendants();

}  // namespace minke::farming
