#include "engine/embedded/server/peer_owner.h"

#include "engine/embedded/accounts/users.h"

namespace minke::engine {

Owner owner_of_peer(const rpc::Peer& peer) {
  const Owner owner = owner_of_process(peer.pid);
  // Checked after the start time was read: a process that still lives had this pid all the time.
  return rpc::peer_process(peer) ? owner : Owner{};
}

}  // namespace minke::engine
