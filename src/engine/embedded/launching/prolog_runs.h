// PrologRuns: runs prologs and epilogs, each in its own process (`minke prolog-program`) that ends with this
// daemon. So the daemon after a killed one runs them again, as slurm.conf(5) describes.
//
// Invariant: two programs never run at the same time for one job and place, not even from two daemons: the
// process holds a lock on the number that names both. Few programs run at once; the others wait in order.
// Their output goes to the log. State's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"
#include "engine/embedded/launching/prologs.pb.h"
#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::engine {

class PrologRuns {
 public:
  PrologRuns(os::EventLoop& loop, std::string home) : loop_(loop), home_(std::move(home)) {}

  struct Run {
    PrologOrder order;
    std::string what;      // for the log: "Prolog of job 5 on n1"
    std::string alone_on;  // runs with the same name exclude each other; empty: no exclusion
    std::function<void(const PrologOutcome&)> done;
  };
  void start(Run run);

 private:
  struct Process {
    Run run;
    os::UniqueFd output;
    std::string said;
    std::unique_ptr<os::EventLoop::Watch> watch;
  };
  void start_waiting();
  void launch(Run run);
  void on_output(uint64_t id);
  void end_later(uint64_t id, PrologOutcome outcome);
  void end(uint64_t id, const PrologOutcome& outcome);

  os::EventLoop& loop_;
  std::string home_;
  std::deque<Run> waiting_;
  std::map<uint64_t, Process> running_;
  std::set<std::string> busy_;  // of alone_on
  uint64_t next_ = 0;
};

}  // namespace minke::engine
