// Log-ins under way at a shared portal. For each a process of PAM's, which the door has started, asks for the
// password, then for a second factor where there is one; the browser hears each question as the answer to its
// last request. Of the server's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "os/fd.h"
#include "os/rate_limit.h"
#include "portal/door_wire.h"
#include "portal/http_server.h"

namespace minke::portal {

class LogIns {
 public:
  using ToDoor = std::function<bool(const DoorMessage& message)>;

  LogIns(HttpServer& server, ToDoor to_door);

  // A request of somebody who logs in: his name, or the answer to what he was asked.
  void begin(const std::string& name, const std::string& address, std::string browser,
             HttpServer::Answer answer);
  // The same of one whom a provider has sent back with this answer (oidc_login.h).
  void begin_by_code(const std::string& answer_bytes, const std::string& address, std::string browser,
                     HttpServer::Answer answer);
  void go_on(const std::string& attempt, const std::string& text, HttpServer::Answer answer);

  // The door's words of an attempt.
  void have_conversation(const std::string& attempt, os::UniqueFd socket);
  // It is over. Returns who waits for its end; without an answer: nobody does any more.
  struct Waiting {
    HttpServer::Answer answer;
    std::string browser;
  };
  Waiting finish(const std::string& attempt);

 private:
  struct LogIn {
    os::UniqueFd socket;
    std::unique_ptr<HttpServer::Watch> readable;
    std::string address, browser;
    std::vector<std::string> told;  // before the next question
    HttpServer::Answer answer;      // of the request that waits; none: he is asked
  };
  void hear(const std::string& attempt);
  void ask_door(DoorWord word, const std::string& text, const std::string& address, std::string browser,
                HttpServer::Answer answer);

  HttpServer& server_;
  const ToDoor to_door_;
  os::RateLimit by_address_;
  std::map<std::string, LogIn> log_ins_;
};

}  // namespace minke::portal
