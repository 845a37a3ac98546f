// The daemon's door: takes connections, hands each request to the part that answers it, sends the answers.
//
// A request is bounded, comes from a user that the kernel names, and is always answered: with an error where
// it cannot be understood, or where its user has used up a budget (engine/embedded/budgets.h). State's
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/daemon.pb.h"
#include "base/result.h"
#include "engine/embedded/actions.h"
#include "engine/embedded/explaining.h"
#include "engine/embedded/queries.h"
#include "engine/embedded/submitting.h"
#include "os/event_loop.h"
#include "os/fd.h"
#include "os/rate_limit.h"
#include "rpc/connection.h"

namespace minke::api {
class CreateStepRequest;
class NotifyRequest;
class WaitJobRequest;
}  // namespace minke::api

namespace minke::rpc {
class ClientMessage;
}  // namespace minke::rpc

namespace minke::engine {

struct Core;

class Server {
 public:
  struct Hooks {
    std::function<api::StatusReply()> status;
    // The result: nothing, where it stops; or why not.
    std::function<void(api::ShutdownRequest::Mode mode, std::function<void(Status)> reply)> shut_down;
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
  struct Ticket;
  using Clients = std::unordered_map<Client*, std::shared_ptr<Client>>;
  void accept(os::UniqueFd socket);
  void drop(Clients::iterator place);
  void handle(const std::shared_ptr<Client>& client, rpc::ClientMessage message,
              std::vector<os::UniqueFd> descriptors);
  void answer(const std::shared_ptr<Client>& client, rpc::ClientMessage message,
              std::vector<os::UniqueFd> descriptors);
  void create_step(const std::shared_ptr<Client>& client, uint32_t request_id,
                   const api::CreateStepRequest& request, std::vector<os::UniqueFd> descriptors);
  // Says why, and hangs up.
  void refuse(std::unique_ptr<rpc::Connection> connection, const Error& error);
  bool admit_frame(const std::shared_ptr<Client>& client, size_t bytes);
  void room_was_made(uint32_t uid);  // in this user's budget: who is held back may try again
  void let_in(uint32_t uid);
  Status hold_descriptors(Client& client, size_t held);
  void forget_steps(const Client& client);
  void wait_job(const std::shared_ptr<Client>& client, uint32_t request_id,
                const api::WaitJobRequest& request, std::shared_ptr<Ticket> ticket);
  bool may_hold_unread(Client& client);
  Status may_notify(uint32_t uid, const api::NotifyRequest& request);

  Core& core_;
  os::UniqueFd listener_;
  Hooks hooks_;
  Submitting submitting_;
  Queries queries_;
  Explaining explaining_;
  Actions actions_;
  std::unique_ptr<os::EventLoop::Watch> accepting_;
  Clients clients_;
  struct HeldBack {
    std::weak_ptr<Client> client;
    size_t bytes;
  };
  std::unordered_map<uint32_t, std::deque<HeldBack>> held_back_;  // by user, in the order in which they came
  std::map<bool, std::unique_ptr<os::RateLimit>> notices_;        // of operators, of others
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace minke::engine
