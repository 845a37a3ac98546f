#include "portal/log_ins.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "os/pass_descriptors.h"
#include "portal/job_json.h"
#include "portal/sessions.h"
#include "text/printable.h"

namespace minke::portal {
namespace {

// The door asks PAM for 32 at once: one address leaves room for others, and has enough for a class.
constexpr size_t kMostLogIns = 128, kMostOfOneAddress = 16, kMostTold = 16;
constexpr uint32_t kTriesOfOneAddress = 60;
constexpr std::chrono::minutes kTriesTime{10};

Reply too_many() {
  return error_reply(429, Error{0, "too many have tried to log in: try again in some minutes"});
}

}  // namespace

LogIns::LogIns(HttpServer& server, ToDoor to_door)
    : server_(server), to_door_(std::move(to_door)), by_address_(kTriesOfOneAddress, kTriesTime) {}

void LogIns::begin(const std::string& name, const std::string& address, std::string browser,
                   HttpServer::Answer answer) {
  // The same words as for a wrong password.
  if (!is_login_name(name)) return answer(error_reply(403, Error{0, "the log-in was refused"}));
  ask_door(DoorWord::kBegin, name + std::string(1, '\0') + address, address, std::move(browser),
           std::move(answer));
}

void LogIns::begin_by_code(const std::string& answer_bytes, const std::string& address, std::string browser,
                           HttpServer::Answer answer) {
  ask_door(DoorWord::kCode, answer_bytes + std::string(1, '\0') + address, address, std::move(browser),
           std::move(answer));
}

void LogIns::ask_door(DoorWord word, const std::string& text, const std::string& address, std::string browser,
                      HttpServer::Answer answer) {
  const auto of_address = std::count_if(log_ins_.begin(), log_ins_.end(),
                                        [&](const auto& one) { return one.second.address == address; });
  if (log_ins_.size() >= kMostLogIns || static_cast<size_t>(of_address) >= kMostOfOneAddress ||
      !by_address_.ask(address, std::chrono::steady_clock::now()).allowed)
    return answer(too_many());
  const std::string attempt = random_word();
  LogIn& log_in = log_ins_[attempt];
  log_in.address = address;
  log_in.answer = std::move(answer);
  log_in.browser = std::move(browser);
  if (to_door_({word, attempt, text})) return;
  if (const auto waiting = finish(attempt).answer)
    waiting(error_reply(503, Error{0, "the portal cannot ask; try again"}));
}

void LogIns::go_on(const std::string& attempt, const std::string& text, HttpServer::Answer answer) {
  const auto found = log_ins_.find(attempt);
  if (found == log_ins_.end() || found->second.answer != nullptr || !found->second.socket)
    return answer(error_reply(409, Error{0, "this log-in has ended: begin again"}));
  const std::string bytes = std::string(1, static_cast<char>(Turn::kAnswer)) + text;
  if (text.size() > kMostTurn ||
      os::send_bytes(found->second.socket.get(), bytes, {}, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    return answer(error_reply(409, Error{0, "this log-in has ended: begin again"}));
  found->second.answer = std::move(answer);
}

void LogIns::have_conversation(const std::string& attempt, os::UniqueFd socket) {
  const auto found = log_ins_.find(attempt);
  if (found == log_ins_.end()) return;
  found->second.socket = std::move(socket);
  found->second.readable =
      server_.on_readable(found->second.socket.get(), [this, attempt] { hear(attempt); });
}

void LogIns::hear(const std::string& attempt) {
  const auto found = log_ins_.find(attempt);
  if (found == log_ins_.end()) return;
  LogIn& own = found->second;
  const auto packet = os::receive_packet(own.socket.get(), kMostTurn + 1);
  if (!packet || packet->bytes.empty()) {  // the door tells the outcome
    own.readable.reset();
    return;
  }
  const auto turn = static_cast<Turn>(packet->bytes[0]);
  const std::string text = text::printable(packet->bytes.substr(1));
  if (turn == Turn::kTold) {
    if (own.told.size() < kMostTold) own.told.push_back(text);
    return;
  }
  const HttpServer::Answer answer = std::exchange(own.answer, nullptr);
  if (answer == nullptr) return;
  Json told = Json::array();
  for (const std::string& line : std::exchange(own.told, {})) told.push_back(line);
  answer(json_reply({{"attempt", attempt},
                     {"asks", text},
                     {"is_secret", turn == Turn::kSecret},
                     {"told", std::move(told)},
                     {"user", ""}}));
}

LogIns::Waiting LogIns::finish(const std::string& attempt) {
  const auto found = log_ins_.find(attempt);
  if (found == log_ins_.end()) return {};
  Waiting waiting{std::move(found->second.answer), std::move(found->second.browser)};
  log_ins_.erase(found);
  return waiting;
}

}  // namespace minke::portal
