// Who sent a request, and the way back to him: kept by whoever answers it, at once or later.
//
// It holds what the request takes until it has been answered (flow_control.h), and its client weakly: one who
// has gone is told nothing. Cheap to copy. State's thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "engine/embedded/server/connected_client.h"
#include "engine/embedded/server/flow_control.h"

namespace minke::api {
class ActionReply;
}  // namespace minke::api

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine {

class Requester {
 public:
  Requester(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id,
            std::shared_ptr<FlowControl::Ticket> ticket);

  std::shared_ptr<ConnectedClient> client() const { return client_.lock(); }  // null: he has gone
  void send(rpc::ServerMessage& message, bool last) const;
  void fail(const Error& error) const;
  // Slurm's words for the failures that have none.
  void send_action(api::ActionReply reply) const;

 private:
  std::weak_ptr<ConnectedClient> client_;
  uint32_t request_id_;
  std::shared_ptr<FlowControl::Ticket> ticket_;
};

}  // namespace minke::engine
