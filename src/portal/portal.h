// The personal portal: HTTP on loopback for the one who started it. His browser shows a token of the printed
// address once. It acts with the rights of its process, which the engine checks. Blocking; of one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace minke::portal {

struct PortalOptions {
  std::optional<uint16_t> port;  // none: one's usual one, or another if that is taken
  bool open_browser = false;
  std::string token_file;           // gets the token of programs; empty: none
  std::chrono::minutes unused{60};  // so long, and it ends
};

// Serves until nobody uses it, or a signal. Prints the address. Errors: it could not begin.
Status run_portal(const PortalOptions& options);

}  // namespace minke::portal
