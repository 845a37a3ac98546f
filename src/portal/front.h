// The front of a shared portal: HTTP for all, in a process without any rights. It knows who is logged in, by
// sessions that the door has let begin, and passes each request on to the worker of who asks. Blocking; of
// one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "portal/oidc_login.h"

namespace minke::portal {

class TlsContext;

struct FrontOptions {
  std::vector<std::string> names;  // under which browsers reach it
  std::string apps_name;           // of applications; empty: there are none
  bool is_public = false;          // public pages need no log-in
  bool is_secure = false;          // they use https, here or at the proxy before it
  OidcSettings oidc = {};          // people log in by it, where it has an issuer
  bool is_behind_proxy = false;    // whose X-Forwarded-For tells who asks
  int action_log = -1;             // where to write who changed what (action_log.h)
};

// Serves at a socket that listens already, until a signal, or the door ends. Without `tls` it speaks plain
// HTTP.
Status run_front(const FrontOptions& options, std::unique_ptr<TlsContext> tls, int listener,
                 os::UniqueFd door);

}  // namespace minke::portal
