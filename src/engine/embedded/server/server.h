// The daemon's door: takes connections, and has their requests answered (dispatch.h), as many at a time as
// flow_control.h says.
//
// A request is bounded, comes from a user that the kernel names, and is always answered: with an error where
// it cannot be understood, or where its user has used up a budget (engine/embedded/server/budgets.h). State's
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/embedded/server/connected_client.h"
#include "engine/embedded/server/dispatch.h"
#include "engine/embedded/server/flow_control.h"
#include "os/event_loop.h"
#include "os/fd.h"
#include "rpc/connection.h"

namespace minke::rpc {
class ClientMessage;
}  // namespace minke::rpc

namespace minke::engine {

struct Core;

class Server {
 public:
  using Hooks = Dispatch::Hooks;
  Server(Core& core, os::UniqueFd listener, Hooks hooks);
  ~Server();

  // Answers begin only when the state is complete: what comes earlier waits in the socket.
  void open();
  void close();

  // A client whose connection is already there. `connect` makes it, with these callbacks; a socket's
  // otherwise, and in tests one in memory.
  using Connect = std::function<std::unique_ptr<rpc::Connection>(rpc::Connection::Callbacks callbacks)>;
  void admit(const rpc::Peer& peer, const Connect& connect);

 private:
  using Clients = std::unordered_map<ConnectedClient*, std::shared_ptr<ConnectedClient>>;
  rpc::Connection::Callbacks callbacks_of(ConnectedClient* key);
  void accept(os::UniqueFd socket);
  void drop(Clients::iterator place);
  void received(const std::shared_ptr<ConnectedClient>& client, std::string_view frame,
                std::vector<os::UniqueFd> descriptors);
  void handle(const std::shared_ptr<ConnectedClient>& client, rpc::ClientMessage message,
              std::vector<os::UniqueFd> descriptors);
  // Says why, and hangs up.
  void refuse(std::unique_ptr<rpc::Connection> connection, const Error& error);

  Core& core_;
  os::UniqueFd listener_;
  FlowControl flow_;
  Dispatch dispatch_;
  std::unique_ptr<os::EventLoop::Watch> accepting_;
  Clients clients_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace minke::engine
