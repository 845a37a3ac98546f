// The shared portal: a door of root's (door.h) and a front without rights (front.h), which this begins.
// Blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "portal/oidc_login.h"

namespace minke::portal {

struct SharedOptions {
  std::string address = "127.0.0.1";  // where it listens
  uint16_t port = 8443;
  std::vector<std::string> names;        // under which browsers reach it; empty: this machine's
  std::string apps_name;                 // of interactive applications; empty: there are none
  OidcSettings oidc;                     // instead of PAM, where it has an issuer
  std::string certificate, key;          // files in PEM; empty: a proxy has them
  std::string service = "minke-portal";  // of PAM
  bool is_plain = false;                 // neither: for tests, and for loopback
};

// Serves until a signal. Errors: it could not begin.
Status run_shared_portal(const SharedOptions& options);

}  // namespace minke::portal
