#include "engine/embedded/server/flow_control.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/request_guard.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "model/error.h"
#include "os/user_log.h"
#include "rpc/frame.h"

namespace minke::engine {

namespace {

// The client may have this much unread before more is sent.
constexpr size_t kMostUnread = size_t{1} << 20;
// One long answer is sent whatever the budget is. More than this are unsolicited events that add up.
constexpr size_t kMostUnreadOfOne = 2 * rpc::kMaxReplyBytes;

bool has_to_read(const ConnectedClient& client) {
  return client.connection && client.connection->unsent_bytes() > kMostUnread;
}

}  // namespace

class FlowControl::Ticket {
 public:
  Ticket(FlowControl& flow, uint32_t uid, Budgets::Charge request, Budgets::Charge bytes)
      : flow_(flow), alive_(flow.alive_), uid_(uid), request_(std::move(request)), bytes_(std::move(bytes)) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() {
    if (bytes_.amount() == 0) return;
    bytes_ = {};
    if (!alive_.expired()) flow_.room_was_made(uid_);
  }

 private:
  FlowControl& flow_;
  std::weak_ptr<bool> alive_;
  uint32_t uid_;
  Budgets::Charge request_, bytes_;
};

LongAnswer::LongAnswer(FlowControl& flow, const std::shared_ptr<ConnectedClient>& client, uint32_t request_id)
    : flow_(flow), client_(client), request_id_(request_id) {}

void LongAnswer::next(std::function<void()> piece) {
  const auto client = client_.lock();
  if (!client) return;
  const auto self = std::find_if(client->answers.begin(), client->answers.end(),
                                 [this](const auto& one) { return one.get() == this; });
  if (self == client->answers.end()) return;
  flow_.in_turn(client, [weak = std::weak_ptr<LongAnswer>(*self), piece = std::move(piece)] {
    if (const auto still = weak.lock()) still->make(piece);
  });
}

void LongAnswer::next_with_forecast(std::function<void()> piece) {
  if (forecast_) return next(std::move(piece));
  const auto client = client_.lock();
  if (!client) return;
  const auto self = std::find_if(client->answers.begin(), client->answers.end(),
                                 [this](const auto& one) { return one.get() == this; });
  if (self == client->answers.end()) return;
  flow_.begin_forecast(client->peer.uid, *self,
                       [this, piece = std::move(piece)](std::shared_ptr<void> forecast) {
                         forecast_ = std::move(forecast);
                         next(piece);
                       });
}

void LongAnswer::make(const std::function<void()>& piece) {
  const auto maker = maker_;  // keeps the maker even if this is the last piece
  const RequestGuard guard;
  try {
    piece();
  } catch (const std::exception& failed) {
    if (RequestGuard::has_changed()) throw;
    const auto client = client_.lock();
    if (!client) return;
    os::log_user_warning("a request that fails", client->peer.uid,
                         std::string("an answer fails: ") + failed.what());
    client->send_error(request_id_, Error{model::kInternal, "the request makes no sense to this daemon"});
    end();
  }
}

void LongAnswer::send(rpc::ServerMessage& message, bool last) {
  if (const auto client = client_.lock()) client->send(message, request_id_, last);
}

bool LongAnswer::has_room() const {
  const auto client = client_.lock();
  return client && !has_to_read(*client);
}

void LongAnswer::end() {
  const auto client = client_.lock();
  if (!client) return;
  const auto self = std::find_if(client->answers.begin(), client->answers.end(),
                                 [this](const auto& one) { return one.get() == this; });
  if (self == client->answers.end()) return;
  const auto ended = std::move(*self);
  client->answers.erase(self);
  if (client->is_held) flow_.stand_in_line(client);
}

FlowControl::FlowControl(Core& core, std::function<void(ConnectedClient&)> drop)
    : core_(core), drop_(std::move(drop)), turns_(core.loop) {}

FlowControl::~FlowControl() {
  alive_.reset();
}

Result<std::shared_ptr<FlowControl::Ticket>> FlowControl::begin(ConnectedClient& client) {
  const uint32_t uid = client.peer.uid;
  Budgets::Charge bytes = std::move(client.charges.receiving);
  auto request = core_.rights->budgets().take(uid, Budget::kWaitingRequests, 1);
  auto ticket = std::make_shared<Ticket>(*this, uid, request ? std::move(*request) : Budgets::Charge(),
                                         std::move(bytes));
  if (!request) return failure(request.error());
  return ticket;
}

LongAnswer& FlowControl::begin_long_answer(const std::shared_ptr<ConnectedClient>& client,
                                           uint32_t request_id) {
  return *client->answers.emplace_back(std::make_shared<LongAnswer>(*this, client, request_id));
}

void FlowControl::in_turn(const std::shared_ptr<ConnectedClient>& client, std::function<void()> work) {
  if (has_to_read(*client) || !client->next_pieces.empty())
    return client->next_pieces.push_back(std::move(work));
  turns_.add(client->peer.uid,
             [weak = std::weak_ptr<ConnectedClient>(client), work = std::move(work)]() mutable {
               const auto still = weak.lock();
               if (!still || !still->connection) return;
               // Earlier turns may have sent much.
               if (has_to_read(*still)) return still->next_pieces.push_back(std::move(work));
               work();
             });
}

bool FlowControl::may_handle(const std::shared_ptr<ConnectedClient>& client) {
  if (std::exchange(client->has_turn, false)) return true;
  client->is_held = true;
  stand_in_line(client);
  return false;
}

void FlowControl::stand_in_line(const std::shared_ptr<ConnectedClient>& client) {
  if (client->in_line || !client->answers.empty() || has_to_read(*client)) return;
  client->in_line = true;
  turns_.add(client->peer.uid, [weak = std::weak_ptr<ConnectedClient>(client)] {
    const auto still = weak.lock();
    if (!still || !still->connection) return;
    still->in_line = still->is_held = false;
    still->has_turn = true;
    still->connection->go_on();
    still->has_turn = false;
  });
}

void FlowControl::was_read(const std::shared_ptr<ConnectedClient>& client) {
  client->charges.unread = {};
  auto pieces = std::exchange(client->next_pieces, {});
  for (auto& piece : pieces) in_turn(client, std::move(piece));
  if (client->is_held) stand_in_line(client);
}

// If there are many large requests of one user, they are read one after the other: their total is bounded,
// and an admitted one has room for all of itself.
bool FlowControl::admit_frame(const std::shared_ptr<ConnectedClient>& client, size_t bytes) {
  const uint32_t uid = client->peer.uid;
  auto charge = core_.rights->budgets().take(uid, Budget::kReceivedBytes, bytes);
  if (!charge) {
    held_back_[uid].push_back({client, bytes});
    return false;
  }
  client->charges.receiving = std::move(*charge);
  return true;
}

Status FlowControl::hold_descriptors(ConnectedClient& client, size_t held) {
  const Status room =
      core_.rights->budgets().resize(client.peer.uid, client.charges.descriptors, Budget::kDescriptors, held);
  if (room) return {};
  client.send_error(0, room.error());
  client.connection->flush();
  return room;
}

bool FlowControl::may_hold_unread(ConnectedClient& client) {
  const uint32_t uid = client.peer.uid;
  const uint64_t unsent = client.connection->unsent_bytes();
  Budgets::Charge& charge = client.charges.unread;
  if (unsent <= charge.amount() || core_.rights->budgets().resize(uid, charge, Budget::kUnreadBytes, unsent))
    return true;
  const bool is_only_one = core_.rights->budgets().used(uid, Budget::kUnreadBytes) == charge.amount();
  if (is_only_one && unsent <= kMostUnreadOfOne) {
    charge = {};
    charge = core_.rights->budgets().adopt(uid, Budget::kUnreadBytes, unsent);
    return true;
  }
  os::log_user_warning("answers", uid, "asks, and does not read the answers");
  drop_(client);
  return false;
}

void FlowControl::begin_forecast(uint32_t uid, std::weak_ptr<LongAnswer> answer, GoOn go_on) {
  auto charge = core_.rights->budgets().take(uid, Budget::kForecasts, 1);
  if (!charge) {
    std::deque<WaitingForecast>& waiting = waiting_forecasts_[uid];
    if (waiting.size() % 64 == 63)  // those who have gone away meanwhile
      std::erase_if(waiting, [](const WaitingForecast& one) { return one.answer.expired(); });
    return waiting.push_back({std::move(answer), std::move(go_on)});
  }
  // When the last one who has it lets go, the next has its turn.
  auto* kept = new Budgets::Charge(std::move(*charge));
  go_on(std::shared_ptr<void>(kept, [this, uid, alive = std::weak_ptr<bool>(alive_)](void* held) {
    delete static_cast<Budgets::Charge*>(held);
    if (alive.expired() || !waiting_forecasts_.contains(uid)) return;
    core_.loop.post([this, uid, alive] {
      if (!alive.expired()) begin_waiting_forecasts(uid);
    });
  }));
}

void FlowControl::begin_waiting_forecasts(uint32_t uid) {
  const auto found = waiting_forecasts_.find(uid);
  if (found == waiting_forecasts_.end()) return;
  std::deque<WaitingForecast> waiting = std::move(found->second);
  waiting_forecasts_.erase(found);
  for (WaitingForecast& one : waiting) {
    if (const auto answer = one.answer.lock()) begin_forecast(uid, answer, std::move(one.go_on));
  }
}

void FlowControl::room_was_made(uint32_t uid) {
  if (!held_back_.contains(uid)) return;
  core_.loop.post([this, uid, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) let_in(uid);
  });
}

void FlowControl::let_in(uint32_t uid) {
  const auto held_back = held_back_.find(uid);
  if (held_back == held_back_.end()) return;
  std::deque<HeldBack> waiting = std::exchange(held_back->second, {});
  while (!waiting.empty()) {
    const auto client = waiting.front().client.lock();
    const uint64_t most = core_.rights->budgets().limit(uid, Budget::kReceivedBytes);
    if (client && core_.rights->budgets().used(uid, Budget::kReceivedBytes) + waiting.front().bytes > most)
      break;
    waiting.pop_front();
    if (client && client->connection) client->connection->resume();
  }
  // Clients that came back meanwhile with their next request go to the end.
  std::deque<HeldBack>& again = held_back_[uid];
  waiting.insert(waiting.end(), again.begin(), again.end());
  again = std::move(waiting);
  if (again.empty()) held_back_.erase(uid);
}

}  // namespace minke::engine
