// The daemon's door: takes connections, hands each request to the part that answers it, sends the answers.
//
// A request is bounded, comes from a user that the kernel names, and is always answered: with an error where
// it cannot be understood. State's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "engine/embedded/actions.h"
#include "engine/embedded/explaining.h"
#include "engine/embedded/queries.h"
#include "engine/embedded/submitting.h"
#include "os/event_loop.h"
#include "os/fd.h"
#include "rpc/connection.h"
#include "rpc/messages.pb.h"

namespace minke::engine {

struct Core;

class Server {
 public:
  struct Hooks {
    std::function<rpc::StatusReply()> status;
    // The result: nothing, where it stops; or why not.
    std::function<void(rpc::ShutdownRequest::Mode mode, std::function<void(Status)> reply)> shut_down;
    std::function<Status()> reconfigure;
  };
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
  struct Client;
  void accept(os::UniqueFd socket);
  void handle(const std::shared_ptr<Client>& client, rpc::ClientMessage message,
              std::vector<os::UniqueFd> descriptors);
  void answer(const std::shared_ptr<Client>& client, rpc::ClientMessage message,
              std::vector<os::UniqueFd> descriptors);
  void create_step(const std::shared_ptr<Client>& client, uint32_t request_id,
                   const rpc::CreateStepRequest& request, std::vector<os::UniqueFd> descriptors);
  void wait_job(const std::shared_ptr<Client>& client, uint32_t request_id,
                const rpc::WaitJobRequest& request);

  Core& core_;
  os::UniqueFd listener_;
  Hooks hooks_;
  Submitting submitting_;
  Queries queries_;
  Explaining explaining_;
  Actions actions_;
  std::unique_ptr<os::EventLoop::Watch> accepting_;
  std::unordered_map<Client*, std::shared_ptr<Client>> clients_;
};

}  // namespace minke::engine
