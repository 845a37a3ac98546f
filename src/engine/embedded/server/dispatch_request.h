// A request that is being dispatched. Used only within dispatch.h. State's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/embedded/server/connected_client.h"
#include "engine/embedded/server/dispatch.h"
#include "engine/embedded/server/requester.h"
#include "engine/embedded/state/job_matcher.h"
#include "os/fd.h"
#include "rpc/messages.pb.h"

namespace minke::engine {

struct Dispatch::Request {
  std::shared_ptr<ConnectedClient> client;
  Requester requester;
  rpc::ClientMessage message;
  std::vector<os::UniqueFd> descriptors;
  Viewer viewer;

  const rpc::Peer& peer() const { return client->peer; }
  uint32_t uid() const { return client->peer.uid; }
};

}  // namespace minke::engine
