// What the portal answers itself, in the server's thread: logging in and out, sessions, the stream of events,
// and the files of the front end.
#pragma once

#include <cstdint>
#include <string>

#include "portal/gate.h"
#include "portal/message.h"
#include "portal/sessions.h"

namespace minke::portal {

class OwnPages {
 public:
  OwnPages(Sessions& sessions, std::string user, uint32_t uid)
      : sessions_(sessions), user_(std::move(user)), uid_(uid) {}

  Reply answer(const Request& request, const Match& match, const Values& call, const Gate::Visitor& visitor,
               int64_t now);
  // A file of the front end; its first page for addresses that it makes up itself.
  static Reply file(const Request& request);

 private:
  Reply log_in(const Request& request, const Values& call, int64_t now);
  Reply list_sessions(const Gate::Visitor& visitor) const;

  Sessions& sessions_;
  const std::string user_;
  const uint32_t uid_;
};

}  // namespace minke::portal
