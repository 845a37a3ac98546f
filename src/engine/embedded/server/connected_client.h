// ConnectedClient: one connection to the daemon, the user at its other end, and what is kept for it.
//
// The server (server.h) holds it while it is connected; handlers hold it for moments. A handler that answers
// later keeps a weak pointer, because the client may be gone by then. State's thread.
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
  std::map<std::string, uint32_t> steps;  // key and job of the steps whose events it gets
  std::set<uint32_t> waits_for;           // jobs
  struct Charges {
    Budgets::Charge connection, descriptors, receiving, unread;
  } charges;
  std::function<bool(ConnectedClient&)> may_hold_unread = {};  // null: always true
  bool leaving = false;  // nothing more is sent; the connection closes soon

  // Used by flow_control.h.
  bool has_turn = false;                               // its next request may be handled
  bool in_line = false;                                // for a turn
  bool is_held = false;                                // a request is there and waits
  std::vector<std::shared_ptr<LongAnswer>> answers{};  // long answers in progress
  std::deque<std::function<void()>> next_pieces{};     // of them, to run once the client has read

  void send(rpc::ServerMessage& message, uint32_t request_id, bool last);
  void send_error(uint32_t request_id, const Error& error);
};

}  // namespace minke::engine
