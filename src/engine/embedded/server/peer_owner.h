// Makes the process at the other end of a connection an Owner of what it asks for. Any thread.
#pragma once

#include "engine/embedded/state/job.h"
#include "rpc/socket.h"

namespace minke::engine {

// Call it while the connection lasts. Pid 0 if the process is gone, even if its pid was reused.
Owner owner_of_peer(const rpc::Peer& peer);

}  // namespace minke::engine
