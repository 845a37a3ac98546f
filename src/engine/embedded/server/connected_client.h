// A client of the daemon: one connection, who is at its other end, and what is kept for it.
//
// Held by the door (server.h) while it is connected, and for moments by whoever answers it. Those who answer
// later keep a weak pointer: the client may have gone. State's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/server/budgets.h"
#include "rpc/connection.h"

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine {

class LongAnswer;

struct ConnectedClient {
  std::unique_ptr<rpc::Connection> connection;
  rpc::Peer peer;
  std::map<std::string, uint32_t> steps;  // key and job of the steps that this client is told about
  std::set<uint32_t> waits_for;           // jobs
  struct Charges {
    Budgets::Charge connection, descriptors, receiving, unread;
  } charges;
  std::function<bool(ConnectedClient&)> may_hold_unread = {};  // null: it may
  bool leaving = false;  // nothing more is sent, and the connection is about to be closed

  // Kept by flow_control.h.
  bool has_turn = false;                               // its next request may be handled
  bool in_line = false;                                // for that
  bool is_held = false;                                // a request is there, and waits
  std::vector<std::shared_ptr<LongAnswer>> answers{};  // that are under way
  std::deque<std::function<void()>> next_pieces{};     // of them, once what is there has been read

  void send(rpc::ServerMessage& message, uint32_t request_id, bool last);
  void send_error(uint32_t request_id, const Error& error);
};

}  // namespace minke::engine
