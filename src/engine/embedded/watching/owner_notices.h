// Lines for the standard error of processes that own allocations (scontrol notify of an salloc).
//
// That is a file of the user's choice, which may be one that he may only read, or one that never answers. So
// the daemon opens nothing: `minke say-to-owner` writes each line in a child that has the user's rights
// (helpers/say_to_owner.cpp). One at a time for each user; those that wait count as well (Budget::
// kHelperProcesses). State's thread.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "engine/embedded/server/budgets.h"
#include "engine/embedded/state/job.h"
#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::engine {

struct Core;

class OwnerNotices {
 public:
  explicit OwnerNotices(Core& core) : core_(core) {}

  // Returns at once; a line that cannot be written is left. Error: EAGAIN, and which budget is used up.
  Status say(const Job& job, const std::string& message);

 private:
  struct Notice {
    Owner owner;
    gid_t gid = 0;
    std::string message;
    Budgets::Charge charge;
  };
  struct OfUser {
    std::deque<Notice> waiting;
    Budgets::Charge charge;  // of the one that runs
    os::UniqueFd running;    // open as long as the program runs
    std::unique_ptr<os::EventLoop::Watch> watch;
  };

  void start_next(uid_t uid);

  Core& core_;
  std::map<uid_t, OfUser> users_;  // those for whom something waits or runs
};

}  // namespace minke::engine
