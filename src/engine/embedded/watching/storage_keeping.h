// What the cluster does about its tiers of storage by the calendar: snapshots, and the purge of scratch.
//
// A process of its own does it (minke storage-keep, cli/storage/keep.cpp), keeps where it is in files of its
// own, and says when it wants to be started again. The daemon only starts it, so that no file system that
// hangs keeps it. State's thread.
//
// Another one, as root, keeps count of the tiers while they change (minke storage-watch), and ends when the
// daemon reads its output no more.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::engine {

struct Core;

class StorageKeeping {
 public:
  explicit StorageKeeping(Core& core);
  ~StorageKeeping();

  void start();  // when the daemon is ready, and when the configuration has changed

 private:
  // A process that runs as long as the daemon.
  struct Helper {
    std::vector<std::string> command;  // empty: there is to be none
    os::UniqueFd output;
    std::unique_ptr<os::EventLoop::Watch> watch;
    std::unique_ptr<os::EventLoop::Timer> again;
  };
  void on_output();
  void keep_running(Helper& helper, std::vector<std::string> command);
  void try_later(Helper& helper);

  Core& core_;
  os::UniqueFd output_;
  Helper watcher_, stage_server_;
  std::unique_ptr<os::EventLoop::Watch> watch_;
  std::string said_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
