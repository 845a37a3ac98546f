// A launcher that launches nothing: every order ends at once with exit code 0. For measuring the daemon's
// core by itself (--stub-launch).
#pragma once

#include <memory>

#include "node/launcher_client.h"
#include "os/event_loop.h"

namespace minke::node {

// Remembers nothing: its inventory is always empty. Events come in the order of the orders, in the next turns
// of the loop.
std::unique_ptr<LauncherClient> make_stub_launcher(os::EventLoop& loop, LauncherClient::Callbacks callbacks);

}  // namespace minke::node
