// Server: accepts connections to the daemon and has their requests answered (dispatch.h), as many at a
// time as flow_control.h allows.
//
// A request has a bounded size and comes from a user whom the kernel identifies. It always gets an
// answer: an error if it is malformed or its user has used up a budget
// (engine/embedded/server/budgets.h). State's thread.
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

  // Starts to answer. Call it when the state is complete; until then connections wait in the socket.
  void open();
  void close();

  // Adds a client that is already connected. `connect` makes the connection with these callbacks: a
  // socket, or in tests one in memory.
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
  // Sends the reason and closes the connection.
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
