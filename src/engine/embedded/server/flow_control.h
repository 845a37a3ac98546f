// FlowControl: limits how much flows between the daemon and its clients
// at a time, in both directions.
//
// Requests: large requests of one user that together exceed the budget are read one after the other,
// and each request waits for its user's turn (turns.h). Answers: a client that has not read its
// answers is not served until it has. A long answer is made in pieces, each in its user's turn and
// only after the client has read the last one. So neither its length nor a slow reader costs others
// time or the daemon memory. Forecasts of one user beyond a budget wait for one another. The same holds for
// the ends of jobs that clients wait for. Unsolicited events, such as the end of a step, are bounded by a
// budget. Invariants: a waiting request is handled once its user's turn has come, its connection has no
// earlier request in progress, and the client has read nearly everything that was sent. State's thread.
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

// An answer that is made in pieces. It belongs to its client and is destroyed with it. The client's
// next request waits for its end.
class LongAnswer {
 public:
  LongAnswer(FlowControl& flow, const std::shared_ptr<ConnectedClient>& client, uint32_t request_id);

  // Keeps the object that makes the answer and has a reference to this.
  void keep(std::shared_ptr<void> maker) { maker_ = std::move(maker); }
  // Runs `piece` when the next piece may be made. If it fails a check, the client gets an
  // error, and no further piece is made.
  void next(std::function<void()> piece);
  // The same for a piece of a forecast, once its user may have one more under way; until has_forecast(), or
  // the end.
  void next_with_forecast(std::function<void()> piece);
  void has_forecast() { forecast_ = {}; }
  void send(rpc::ServerMessage& message, bool last);
  bool has_room() const;  // the client has read enough for another piece
  // Destroys this and, after the maker's current call has returned, the maker.
  void end();

 private:
  void make(const std::function<void()>& piece);

  FlowControl& flow_;
  std::weak_ptr<ConnectedClient> client_;
  uint32_t request_id_;
  std::shared_ptr<void> forecast_;  // it may be under way
  std::shared_ptr<void> maker_;
};

class FlowControl {
 public:
  // `drop` closes a client's connection, but not during a call of this object.
  FlowControl(Core& core, std::function<void(ConnectedClient&)> drop);
  ~FlowControl();

  // The resources of a request until it has been answered. The handler keeps the ticket.
  class Ticket;
  Result<std::shared_ptr<Ticket>> begin(ConnectedClient& client);
  LongAnswer& begin_long_answer(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id);

  // Whether a large request may be read (rpc::Connection).
  bool admit_frame(const std::shared_ptr<ConnectedClient>& client, size_t bytes);
  Status hold_descriptors(ConnectedClient& client, size_t held);
  bool may_handle(const std::shared_ptr<ConnectedClient>& client);
  // Bounds the total of a user's unread answers. A single connection may exceed the bound,
  // because a large cluster could not be listed otherwise. False: the client is dropped as
  // soon as no code works with it.
  bool may_hold_unread(ConnectedClient& client);
  // Runs `work` in the client's user's turn, once the client has read nearly everything that was sent.
  void in_turn(const std::shared_ptr<ConnectedClient>& client, std::function<void()> work);
  void was_read(const std::shared_ptr<ConnectedClient>& client);  // everything that was sent
  void room_was_made(uint32_t uid);  // in this user's budget: held-back requests may try again

 private:
  struct HeldBack {
    std::weak_ptr<ConnectedClient> client;
    size_t bytes;
  };
  friend class LongAnswer;
  // Forecasts have copies of the state, so that few of one user's are under way at a time. Calls `go_on` with
  // the right to one, at once or when another has ended.
  using GoOn = std::function<void(std::shared_ptr<void> forecast)>;
  void begin_forecast(uint32_t uid, std::weak_ptr<LongAnswer> answer, GoOn go_on);
  void begin_waiting_forecasts(uint32_t uid);
  void stand_in_line(const std::shared_ptr<ConnectedClient>& client);
  void let_in(uint32_t uid);

  Core& core_;
  std::function<void(ConnectedClient&)> drop_;
  std::unordered_map<uint32_t, std::deque<HeldBack>> held_back_;  // by user, in the order of arrival
  struct WaitingForecast {
    std::weak_ptr<LongAnswer> answer;
    GoOn go_on;
  };
  std::unordered_map<uint32_t, std::deque<WaitingForecast>> waiting_forecasts_;  // the same
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Turns turns_;
};

}  // namespace minke::engine
