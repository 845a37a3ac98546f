// A stub launcher that starts nothing: every order ends at once with exit code 0. It serves to measure the
// daemon's core alone (--stub-launch).
#pragma once

#include <memory>

#include "node/launcher_client.h"
#include "os/event_loop.h"

namespace minke::node {

// It remembers nothing, so its inventory is always empty. Events come in the order of the
// orders, in later turns of the loop.
std::unique_ptr<LauncherClient> make_stub_launcher(os::EventLoop& loop, LauncherClient::Callbacks callbacks);

}  // namespace minke::node
