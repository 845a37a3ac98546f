// The process at the other end of a connection, as an owner of what it asks for. Any thread.
#pragma once

#include "engine/embedded/state/job.h"
#include "rpc/socket.h"

namespace minke::engine {

// While the connection lasts. Pid 0 where the process is gone, whoever has its number now.
Owner owner_of_peer(const rpc::Peer& peer);

}  // namespace minke::engine
