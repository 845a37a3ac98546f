#include "engine/embedded/server/server.h"

#include <chrono>
#include <utility>

#include "base/request_guard.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "model/error.h"
#include "os/user_log.h"
#include "rpc/frame.h"
#include "rpc/messages.pb.h"
#include "rpc/schema.h"

namespace minke::engine {

using namespace model;

namespace {

// For requests of users who are not operators: some tens of milliseconds of work.
constexpr size_t kMostParts = 100'000;

}  // namespace

Server::Server(Core& core, os::UniqueFd listener, Hooks hooks)
    : core_(core),
      listener_(std::move(listener)),
      flow_(core,
            [this](ConnectedClient& client) {
              core_.loop.post([this, key = &client, alive = std::weak_ptr<bool>(alive_)] {
                if (alive.expired()) return;
                if (const auto known = clients_.find(key); known != clients_.end() && known->second->leaving)
                  drop(known);
              });
            }),
      dispatch_(core, flow_, std::move(hooks), [this] { return clients_.size(); }) {}

Server::~Server() = default;

void Server::open() {
  accepting_ =
      rpc::accept_on(core_.loop, listener_.get(), [this](os::UniqueFd socket) { accept(std::move(socket)); });
}

void Server::close() {
  accepting_.reset();
  clients_.clear();
}

void Server::accept(os::UniqueFd socket) {
  const rpc::Peer peer = rpc::peer_of(socket.get());
  admit(peer, [&](rpc::Connection::Callbacks callbacks) {
    return rpc::Connection::start(core_.loop, std::move(socket), rpc::kMaxRequestBytes, std::move(callbacks));
  });
}

void Server::admit(const rpc::Peer& peer, const Connect& connect) {
  auto client = std::make_shared<ConnectedClient>();
  ConnectedClient* key = client.get();
  client->peer = peer;
  // In personal mode the socket's mode keeps others out; this is a second check.
  if (!core_.rights->may_connect(client->peer.uid)) return;
  auto charge = core_.rights->budgets().take(client->peer.uid, config::Budget::kConnections, 1);
  if (!charge) {
    os::log_user_warning("connections", client->peer.uid, "has too many connections");
    return refuse(connect({}), charge.error());
  }
  client->charges.connection = std::move(*charge);
  clients_.emplace(key, client);
  client->may_hold_unread = [this](ConnectedClient& one) { return flow_.may_hold_unread(one); };
  client->connection = connect(callbacks_of(key));
  client->connection->on_drained([this, key] {
    if (const auto known = clients_.find(key); known != clients_.end()) flow_.was_read(known->second);
  });
}

rpc::Connection::Callbacks Server::callbacks_of(ConnectedClient* key) {
  // The client while it exists.
  const auto known = [this, key]() -> std::shared_ptr<ConnectedClient> {
    const auto place = clients_.find(key);
    return place == clients_.end() ? nullptr : place->second;
  };
  return {.on_frame =
              [this, known](std::string_view frame, std::vector<os::UniqueFd> descriptors) {
                if (const auto client = known(); client && !client->leaving)
                  received(client, frame, std::move(descriptors));
              },
          .on_close =
              [this, key](Status why) {
                const auto place = clients_.find(key);
                if (place == clients_.end()) return;
                if (!why)
                  os::log_user_warning("cut off", place->second->peer.uid,
                                       "a client was cut off: " + why.error().message);
                drop(place);
              },
          .admit_frame =
              [this, known](size_t bytes) {
                const auto client = known();
                return client && flow_.admit_frame(client, bytes);
              },
          .may_handle =
              [this, known] {
                const auto client = known();
                return client && flow_.may_handle(client);
              },
          .hold_descriptors =
              [this, known](size_t held) {
                const auto client = known();
                return client ? flow_.hold_descriptors(*client, held) : Status();
              }};
}

void Server::drop(Clients::iterator place) {
  const std::shared_ptr<ConnectedClient> client = place->second;
  dispatch_.forget(*client);
  client->connection.reset();
  clients_.erase(place);
  flow_.room_was_made(client->peer.uid);
}

void Server::refuse(std::unique_ptr<rpc::Connection> connection, const Error& error) {
  ConnectedClient client;
  client.connection = std::move(connection);
  client.send_error(0, error);
  client.connection->flush();
}

void Server::received(const std::shared_ptr<ConnectedClient>& client, std::string_view frame,
                      std::vector<os::UniqueFd> descriptors) {
  std::string storage;
  const bool may_be_any = frame.size() <= kMostParts || core_.rights->is_operator(client->peer.uid);
  const auto known = rpc::Schema::of_program().known_part("minke.rpc.ClientMessage", frame, storage,
                                                          may_be_any ? rpc::Schema::kUnlimited : kMostParts);
  rpc::ClientMessage message;
  if (!known) return client->send_error(0, Error{kNotSupported, known.error().message});
  if (!message.ParseFromArray(known->data(), static_cast<int>(known->size())))
    return client->send_error(0, Error{kInternal, "what was sent is no message of this protocol"});
  handle(client, std::move(message), std::move(descriptors));
}

void Server::handle(const std::shared_ptr<ConnectedClient>& client, rpc::ClientMessage message,
                    std::vector<os::UniqueFd> descriptors) {
  const auto kind = message.body_case();
  const uint32_t uid = client->peer.uid;
  const uint32_t request_id = message.request_id();
  const auto begin = std::chrono::steady_clock::now();
  const RequestGuard guard;
  try {
    dispatch_.answer(client, std::move(message), std::move(descriptors));
  } catch (const std::exception& failed) {
    if (RequestGuard::has_changed()) throw;  // the state may be half changed; the next daemon restores it
    os::log_user_warning("a request that fails", uid,
                         "request " + std::to_string(kind) + " fails: " + failed.what());
    client->send_error(request_id, Error{kInternal, "the request makes no sense to this daemon"});
  }
  const auto taken = std::chrono::steady_clock::now() - begin;
  core_.diagnostics.request_handled(
      kind, uid, static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(taken).count()));
}

}  // namespace minke::engine
