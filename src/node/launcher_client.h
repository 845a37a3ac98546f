// The daemon's side of the launcher: an interface, so that the daemon's core can also be run without one
// (node/stub_launcher.h).
//
// Belongs to the event loop's thread; all callbacks run on it, none of them inside a call of this interface.
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
  // What each means: node/launcher.h and node/launch.proto.
  struct Callbacks {
    std::function<void(Inventory)> on_inventory;  // once after each start(), before any of the others
    std::function<void(Launch)> on_started;
    std::function<void(Launch)> on_task_ended;
    std::function<void(Launch)> on_ended;
    std::function<void(JobEnded)> on_job_ended;
    // The launcher is gone, or could not be started: start() may be called again (also from here). What was
    // sent and not answered may or may not have happened: the next inventory tells.
    std::function<void(Status why)> on_lost_connection;
  };

  virtual ~LauncherClient() = default;  // disconnects; the launcher stays

  // Connects to the launcher of this home; where there is none, starts one, or waits for one that somebody
  // else starts. The outcome: on_inventory or on_lost_connection. Where launchers end soon after they were
  // started, or cannot be started, each try comes later than the one before, up to a minute.
  virtual void start() = 0;

  // Only while connected (after on_inventory); otherwise nothing is sent.
  virtual void launch(LaunchOrder order, std::vector<os::UniqueFd> descriptors) = 0;
  virtual void signal(SignalOrder order) = 0;
  virtual void end_job(EndJobOrder order) = 0;
  virtual void collect(CollectOrder order) = 0;
  virtual void
  shutdown() = 0;  // a launcher with nothing to run or remember stops, which shows as a lost connection

  virtual bool connected() const = 0;

  // Why there is no launcher, though one was to be started: for people, and only where it is not the first
  // try. Empty: nothing is wrong.
  virtual const std::string& problem() const {
    static const std::string none;
    return none;
  }
};

struct LauncherClientOptions {
  std::string home;
  // How to start a launcher: program (a path) and arguments. It must call run_launcher() for this home.
  std::vector<std::string> command;
  std::string log_path;  // its standard error, appended to; empty: /dev/null
  // Launchers are somebody else's to start (systemd's): one of ours would keep his from starting.
  bool await = false;
};

// {/proc/self/exe, launcher, --home, HOME} is the command where `options.command` is empty.
std::unique_ptr<LauncherClient> make_launcher_client(os::EventLoop& loop, LauncherClientOptions options,
                                                     LauncherClient::Callbacks callbacks);

// Starts a launcher that belongs to nobody (a session of its own, no parent that waits for it) and returns
// the descriptor that becomes readable when it is ready ("ready\n"), or has ended (end of file).
Result<os::UniqueFd> start_launcher(const LauncherClientOptions& options);

}  // namespace minke::node
