// How the daemon stops: what a client asked for is durable before it is told so, nothing more is scheduled,
// and the launcher ends with the daemon unless jobs go on. A daemon that cannot store its changes, or cannot
// end jobs that it is to end, tells the client why and goes on as before.
//
// The state's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/daemon.pb.h"
#include "base/result.h"
#include "os/event_loop.h"

namespace minke::node {
class LauncherClient;
}  // namespace minke::node

namespace minke::engine {

struct Core;

class Stopping {
 public:
  // `launcher_trouble`: why the launcher does not work; empty: it does.
  Stopping(Core& core, node::LauncherClient& launcher, std::function<std::string()> launcher_trouble);
  ~Stopping();

  // `reply` gets no error if the daemon stops.
  void shut_down(api::ShutdownRequest::Mode mode, std::function<void(Status)> reply);
  // SIGTERM and SIGINT stop the daemon; jobs go on.
  void stop_on_signals();
  // From here on the end of the launcher is the end of the daemon.
  bool has_begun() const { return has_begun_; }

 private:
  using Answer = std::shared_ptr<std::function<void(Status)>>;  // empty: the client has been told

  Status not_stopped() const;
  void watch(const Answer& answer);
  void stop_when_idle();
  void end_launcher_or_loop();

  Core& core_;
  node::LauncherClient& launcher_;
  std::function<std::string()> launcher_trouble_;
  std::vector<std::unique_ptr<os::EventLoop::Watch>> signals_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
  bool has_begun_ = false;
};

}  // namespace minke::engine
