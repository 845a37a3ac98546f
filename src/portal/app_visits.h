// Browsers at the host of applications, which is another one than the portal's: so nothing that an
// application's page does has the portal's cookie. A browser is sent there with a ticket, which is good once
// and for a minute, and gets a cookie for the one session that the ticket was made for. It is good as long as
// the session at the portal. Of the server's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "portal/app_heads.h"
#include "portal/message.h"
#include "portal/sessions.h"

namespace minke::portal {

class AppVisits {
 public:
  // `is_secure`: browsers use https.
  AppVisits(Sessions& sessions, bool is_secure);

  // Where a browser of this session at the portal (by its cookie) finds an application of `origin`, the host
  // of applications. Its page is `start`, below the address of the application's session.
  Reply send_on(const std::string& origin, const std::string& portal_cookie, const std::string& key,
                const std::string& start, int64_t now);

  // Who asks at the host of applications, and for what; or what he is answered.
  struct Visitor {
    const Session* session = nullptr;
    AppAddress address;
    std::string key;
  };
  std::variant<Reply, Visitor> admit(const Request& head, const std::string& origin, int64_t now);
  // Whether a target is an application's, or the ticket's.
  static bool is_app(std::string_view target);

 private:
  struct Ticket {
    std::string portal_cookie, key, start;
    int64_t until = 0;
  };
  struct Visit {
    std::string portal_cookie, key;
  };
  Reply enter(std::string_view target, int64_t now);
  const Session* session_of(const Request& head, std::string_view key, int64_t now);

  Sessions& sessions_;
  const bool is_secure_;
  const std::string cookie_name_;
  std::map<std::string, Ticket, std::less<>> tickets_;
  std::map<std::string, Visit, std::less<>> visits_;
};

}  // namespace minke::portal
