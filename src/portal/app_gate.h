// The gate of an interactive application: the program that its job runs. It starts the application, which
// listens where only its user reaches it, waits until it does, and writes down where it listens itself and
// the session's secret, for its user alone. From then on it lets in who shows that secret (app_handshake.h),
// and passes bytes on. It ends with the application.
#pragma once

#include <string>

namespace minke::portal {

struct AppGateOptions {
  std::string session;   // its directory, which has script.sh
  std::string host;      // of the portal: on the same machine it listens on loopback
  bool at_port = false;  // the application listens at a port of loopback, and asks for the secret itself
};

// Returns the application's exit status. Blocking; one thread.
int run_app_gate(const AppGateOptions& options);

}  // namespace minke::portal
