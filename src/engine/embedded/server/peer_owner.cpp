#include "engine/embedded/server/peer_owner.h"

#include "engine/embedded/accounts/users.h"

namespace minke::engine {

Owner owner_of_peer(const rpc::Peer& peer) {
  const Owner owner = owner_of_process(peer.pid);
  // Asked after the start time was read: what has not ended by now had the number all the time.
  return rpc::peer_process(peer) ? owner : Owner{};
}

}  // namespace minke::engine
