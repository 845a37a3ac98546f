// Sessions: who has logged in at a portal, and how a browser or a program shows it.
//
// At a personal portal a browser shows the one-time token of the printed address once, and has a cookie from
// then on; what changes something it sends with a token of its session that no other page can read. A program
// shows the portal's token in a header, with each request. All are random; comparing takes the same time
// whatever is shown. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace minke::portal {

struct Session {
  std::string id;  // for people; shows nothing
  std::string csrf;
  std::string browser;  // its User-Agent
  int64_t began = 0, last_used = 0;
  // Of a shared portal:
  std::string user = {}, ticket = {};  // the door's (door_wire.h)
  uint32_t uid = 0;
  bool is_program = false;
};

class Sessions {
 public:
  explicit Sessions(size_t most = 64);

  const std::string& cookie_name() const { return cookie_name_; }
  const std::string& program_token() const { return program_token_; }
  // The token that the next browser may show. Another one follows when it was shown.
  const std::string& login_token() const { return login_token_; }

  // Returns the value of the new session's cookie; none: it is not the token.
  std::optional<std::string> log_in(std::string_view token, std::string_view browser, int64_t now);
  // Begins one for whom it is known already who he is. Returns the value of its cookie.
  std::string begin(Session session, int64_t now);
  // Whether many wrong tokens were shown lately.
  bool is_locked(int64_t now) const;

  // The session of a cookie, which counts as used now; nullptr if there is none.
  const Session* find(std::string_view cookie, int64_t now);
  bool is_program(std::string_view token) const;
  bool end(std::string_view id);
  const std::map<std::string, Session, std::less<>>& all() const { return sessions_; }

 private:
  const size_t most_;
  std::string cookie_name_, program_token_, login_token_;
  std::map<std::string, Session, std::less<>> sessions_;  // by cookie, 256 bits that nobody guesses
  int64_t failures_since_ = 0;
  unsigned failures_ = 0;
};

// Random letters and digits, as many bits as a key of 16 bytes has.
std::string random_word();
// Takes the same time for all words of a length.
bool are_equal(std::string_view a, std::string_view b);

}  // namespace minke::portal
