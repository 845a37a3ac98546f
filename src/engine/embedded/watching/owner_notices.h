// OwnerNotices: writes lines to the standard error of processes that own allocations (scontrol notify).
//
// The user chooses that file; it may be read-only for them or never respond. So the daemon does not open
// it: `minke say-to-owner` writes each line in a child with the user's rights
// (helpers/say_to_owner.cpp). One at a time per user; waiting lines count against the budget too
// (Budget::kHelperProcesses). State's thread.
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

  // Returns at once. A line that cannot be written is dropped. Error: EAGAIN, and the budget that is used up.
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
    Budgets::Charge charge;  // for the running one
    os::UniqueFd running;    // open while the program runs
    std::unique_ptr<os::EventLoop::Watch> watch;
  };

  void start_next(uid_t uid);

  Core& core_;
  std::map<uid_t, OfUser> users_;  // users for whom something waits or runs
};

}  // namespace minke::engine
