// Requester: the sender of a request and the way back to them. The part that answers the request keeps it.
//
// It holds the request's resources until the answer (flow_control.h), and its client weakly: a client that is
// gone gets nothing. Cheap to copy. State's thread.
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

  std::shared_ptr<ConnectedClient> client() const { return client_.lock(); }  // null: the client is gone
  void send(rpc::ServerMessage& message, bool last) const;
  void fail(const Error& error) const;
  // Adds Slurm's words to failures without a text.
  void send_action(api::ActionReply reply) const;

 private:
  std::weak_ptr<ConnectedClient> client_;
  uint32_t request_id_;
  std::shared_ptr<FlowControl::Ticket> ticket_;
};

}  // namespace minke::engine
