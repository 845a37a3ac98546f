// How much flows between the daemon and its clients at a time, in both directions.
//
// What comes: large requests of one user are let in one after the other where together they would exceed his
// budget, and each request waits for its user's turn (turns.h). What goes: who has not read his answers is
// asked nothing more and told nothing more until he has. A long answer is made in pieces, each in its user's
// turn and only when what there is has been read, so that neither its length nor a slow reader costs
// others time, or the daemon memory. So is the end of a job told to those who wait for it. What is told
// unasked, as the end of a step, is bounded by a budget.
//
// Invariants: a request that waits is handled once its user's turn has come, nothing of an earlier one is
// under way on its connection, and nearly all of what was sent on it has been read. State's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "engine/embedded/server/connected_client.h"
#include "engine/embedded/server/turns.h"

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine {

struct Core;

class FlowControl;

// An answer that is made in pieces. It belongs to its client, whose next request waits for its end; when the
// client goes, it goes.
class LongAnswer {
 public:
  LongAnswer(FlowControl& flow, const std::shared_ptr<ConnectedClient>& client, uint32_t request_id);

  // What makes it, and has a reference to this.
  void keep(std::shared_ptr<void> maker) { maker_ = std::move(maker); }
  // Has a piece made when the next one may be. A piece that fails a check is answered with an error, and is
  // the last.
  void next(std::function<void()> piece);
  void send(rpc::ServerMessage& message, bool last);
  bool has_room() const;  // the client has read enough for another piece
  // Destroys this and, once it has returned from its call, its maker.
  void end();

 private:
  void make(const std::function<void()>& piece);

  FlowControl& flow_;
  std::weak_ptr<ConnectedClient> client_;
  uint32_t request_id_;
  std::shared_ptr<void> maker_;
};

class FlowControl {
 public:
  // `drop`: closes the connection of a client, not within a call of this.
  FlowControl(Core& core, std::function<void(ConnectedClient&)> drop);
  ~FlowControl();

  // What a request takes until it has been answered: whoever will answer it holds it.
  class Ticket;
  Result<std::shared_ptr<Ticket>> begin(ConnectedClient& client);
  LongAnswer& begin_long_answer(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id);

  // A large request is coming (rpc::Connection).
  bool admit_frame(const std::shared_ptr<ConnectedClient>& client, size_t bytes);
  Status hold_descriptors(ConnectedClient& client, size_t held);
  bool may_handle(const std::shared_ptr<ConnectedClient>& client);
  // Answers of one user that he has not read are bounded together. One connection may have a larger answer,
  // or nobody could see a large cluster whole. False: the client is dropped as soon as nobody is at work with
  // it.
  bool may_hold_unread(ConnectedClient& client);
  // Has something told to a client, in its user's turn and once it has read nearly all of what it was told.
  void in_turn(const std::shared_ptr<ConnectedClient>& client, std::function<void()> work);
  void was_read(const std::shared_ptr<ConnectedClient>& client);  // all that was sent
  void room_was_made(uint32_t uid);  // in this user's budget: who is held back may try again

 private:
  struct HeldBack {
    std::weak_ptr<ConnectedClient> client;
    size_t bytes;
  };
  friend class LongAnswer;
  void stand_in_line(const std::shared_ptr<ConnectedClient>& client);
  void let_in(uint32_t uid);

  Core& core_;
  std::function<void(ConnectedClient&)> drop_;
  std::unordered_map<uint32_t, std::deque<HeldBack>> held_back_;  // by user, in the order in which they came
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Turns turns_;
};

}  // namespace minke::engine
