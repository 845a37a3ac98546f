// minke up, down, status and log.
//
// Each returns the exit status, and has said what is wrong. One thread; each is called at most once in a
// process.
#pragma once

#include "api/daemon.pb.h"

namespace minke::cli {

// Starts the cluster where it does not run. `shared`: for all users of this machine, from now on; for root.
// `prepare_only`: what must be there before the daemon or the launcher starts.
int up(bool shared, bool prepare_only);
int down(api::ShutdownRequest::Mode mode);
// 3: the cluster is down; 1: it has problems.
int status(bool json);
// Becomes tail(1). `lines`: from the end.
int log(bool follow, int lines);

}  // namespace minke::cli
