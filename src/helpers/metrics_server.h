// The server of /metrics: a process of its own, so that its clients do not delay the daemon. The daemon
// starts it if the configuration asks for it.
#pragma once

#include <string>

namespace minke::helpers {

// "127.0.0.1:9798", "[::]:9798" or ":9798". Serves until standard input is closed, which the daemon holds
// open. Gives up root's rights once it is connected. Returns an exit code.
int serve_metrics(const std::string& home, const std::string& address);

}  // namespace minke::helpers
