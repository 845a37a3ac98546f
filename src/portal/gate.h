// Gate: whom a request is from, and whether it may go on: the host that it names, the page that sends it, its
// cookie or token, and the token of what changes something. Of the server's thread.
#pragma once

#include <optional>
#include <string_view>

#include "portal/message.h"
#include "portal/routes.h"
#include "portal/sessions.h"

namespace minke::portal {

class Gate {
 public:
  Gate(Sessions& sessions, std::string_view user) : sessions_(sessions), user_(user) {}

  // Whether a name is that of applications: 127.0.0.1, which is this machine, too, but to a browser another
  // site than localhost. No cookie of the portal counts there.
  static bool is_apps_host(std::string_view host);
  // ":20000" of a host's name; empty: it has none.
  static std::string_view port_of(std::string_view host);

  // Before anything else. A browser that was led here by another name, or by another site's page, is sent
  // away.
  std::optional<Reply> refuse_origin(const Request& request, bool is_page) const;

  struct Visitor {
    const Session* session = nullptr;  // nullptr: a program
  };
  // Who asks, for a route; or what he is answered.
  Result<Visitor> admit(const Request& request, const Route& route, int64_t now, unsigned& status) const;

 private:
  bool is_own_token(std::string_view token, int64_t now) const;

  Sessions& sessions_;
  const std::string_view user_;
};

}  // namespace minke::portal
