// LauncherClient: the daemon's interface to the launcher. The daemon's core can also run with a stub
// instead (node/stub_launcher.h).
//
// It belongs to the event loop's thread. All callbacks run on it, never inside a call of this interface.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::node {
class CollectOrder;
class EndJobOrder;
class Inventory;
class JobEnded;
class Launch;
class LaunchOrder;
class SignalOrder;
}  // namespace minke::node

namespace minke::node {

class LauncherClient {
 public:
  // See node/launcher.h and node/launch.proto for the meaning of each.
  struct Callbacks {
    std::function<void(Inventory)> on_inventory;  // once after each start(), before any of the others
    std::function<void(Launch)> on_started;
    std::function<void(Launch)> on_task_ended;
    std::function<void(Launch)> on_ended;
    std::function<void(JobEnded)> on_job_ended;
    // The launcher is gone or could not be started. start() may be called again, also from this callback.
    // Orders without an answer may or may not have been carried out; the next inventory tells.
    std::function<void(Status why)> on_lost_connection;
  };

  virtual ~LauncherClient() = default;  // disconnects; the launcher keeps running

  // Connects to the launcher of this home. If there is none, starts one, or waits until somebody else does.
  // Ends with on_inventory or on_lost_connection. If launchers cannot be started or end soon after their
  // start, the pause before the next try grows, up to a minute.
  virtual void start() = 0;

  // These work only while connected (after on_inventory); otherwise they send nothing.
  virtual void launch(LaunchOrder order, std::vector<os::UniqueFd> descriptors) = 0;
  virtual void signal(SignalOrder order) = 0;
  virtual void end_job(EndJobOrder order) = 0;
  virtual void collect(CollectOrder order) = 0;
  virtual void
  shutdown() = 0;  // stops a launcher that runs nothing and remembers nothing; shows as a lost connection

  virtual bool connected() const = 0;

  // Why there is no launcher although this client tried to start one; text for users, from the second
  // try on. Empty: nothing is wrong.
  virtual const std::string& problem() const {
    static const std::string none;
    return none;
  }
};

struct LauncherClientOptions {
  std::string home;
  // The program (a path) and arguments that start a launcher. It must call run_launcher() for this home.
  std::vector<std::string> command;
  std::string log_path;  // appended with its standard error; empty: /dev/null
  // Somebody else (systemd) starts launchers. One that this client starts would block that one.
  bool await = false;
};

// If `options.command` is empty, the command is {/proc/self/exe, launcher, --home, HOME}.
std::unique_ptr<LauncherClient> make_launcher_client(os::EventLoop& loop, LauncherClientOptions options,
                                                     LauncherClient::Callbacks callbacks);

// Starts a detached launcher (its own session, no parent that waits for it). The returned descriptor becomes
// readable when the launcher is ready ("ready\n") or has ended (end of file).
Result<os::UniqueFd> start_launcher(const LauncherClientOptions& options);

}  // namespace minke::node
