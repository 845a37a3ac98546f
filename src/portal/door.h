// The door of a shared portal: the one process of root's. It has PAM asked whether somebody is who he says,
// gives who was let in a ticket, and starts workers of those who have one, with the rights that they had at
// the log-in.
//
// It takes the front for a stranger: a broken front can begin log-ins, as anybody can, and use the tickets
// that it was given, no others. The door reads short messages of one packet (door_wire.h) and waits for
// nobody: processes of PAM's and workers are children that it hears of when they end. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "portal/oidc_login.h"

namespace minke::portal {

struct DoorOptions {
  std::string service = "minke-portal";  // of PAM
  OidcSettings oidc;                     // instead, where it has an issuer
  uint32_t public_uid = 0;               // of the worker for those who are not logged in; 0: there is none
};

// Serves the front at the other end of `front` until it ends, or a signal. Blocking.
Status run_door(const DoorOptions& options, int front);

}  // namespace minke::portal
