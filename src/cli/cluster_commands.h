// minke up, down, status and log.
//
// Each returns the exit status, after it has printed any error. One thread; each is called at most
// once in a process.
#pragma once

#include "api/daemon.pb.h"

namespace minke::cli {

// Starts the cluster if it does not run. `shared`: for all users of this machine, from now on; for root.
// `prepare_only`: makes only what the daemon or the launcher needs before it starts.
int up(bool shared, bool prepare_only);
int down(api::ShutdownRequest::Mode mode);
// Returns 3 if the cluster is down, and 1 if it has problems.
int status(bool json);
// Becomes tail(1). `lines` counts from the end.
int log(bool follow, int lines);

}  // namespace minke::cli
