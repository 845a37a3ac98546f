// Runs prologs and epilogs, each in a process of its own (`minke prolog-program`) that ends with this daemon,
// so that a daemon that comes after a killed one runs them anew: exactly what slurm.conf(5) says of them.
//
// Invariant: for one job and place two programs never run at a time, not even those of two daemons: the
// process holds a lock on the number that names both. Few run at once; the others wait in order. What they
// say goes to the log. State's thread.
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
    std::string alone_on;  // not while another of this name runs; empty: always
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
