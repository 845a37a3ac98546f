// What the cluster does about its tiers of storage by the calendar: snapshots, and the purge of scratch.
//
// A process of its own does it (minke storage-keep, cli/storage/keep.cpp), keeps where it is in files of its
// own, and says when it wants to be started again. The daemon only starts it, so that no file system that
// hangs keeps it. State's thread.
#pragma once

#include <memory>
#include <string>

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
  void on_output();

  Core& core_;
  os::UniqueFd output_;
  std::unique_ptr<os::EventLoop::Watch> watch_;
  std::string said_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
