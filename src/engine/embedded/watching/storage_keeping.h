// StorageKeeping: scheduled work on storage tiers: snapshots, and the purge of scratch.
//
// A separate process does it (minke storage-keep, helpers/storage_keep.cpp), keeps its progress in its own
// files, and says when it wants to be started again. The daemon only starts it, so that a hanging file system
// cannot block the daemon. State's thread.
//
// Another process, as root, counts the tiers' contents as they change (minke storage-watch). It ends when the
// daemon no longer reads its output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::config {
struct Configuration;
}

namespace minke::engine {

class StorageKeeping {
 public:
  // Both must outlive it. The configuration may change: start() reads it again.
  StorageKeeping(os::EventLoop& loop, const config::Configuration& config);
  ~StorageKeeping();

  void start();  // call it when the daemon is ready, and after changes of the configuration

 private:
  // A process that runs as long as the daemon.
  struct Helper {
    std::vector<std::string> command;  // empty: it must not run
    os::UniqueFd output;
    std::unique_ptr<os::EventLoop::Watch> watch;
    std::unique_ptr<os::EventLoop::Timer> again;
  };
  void on_output();
  void keep_running(Helper& helper, std::vector<std::string> command);
  void try_later(Helper& helper);

  os::EventLoop& loop_;
  const config::Configuration& config_;
  os::UniqueFd output_;
  Helper watcher_, stage_server_;
  std::unique_ptr<os::EventLoop::Watch> watch_;
  std::string said_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
