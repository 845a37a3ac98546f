// Shortages: jobs that could start but cannot be launched, because the machine has no room on a disk, or no
// descriptors, processes or memory, at the moment (os/shortage.h). That is not the job's fault: it waits, its
// reason says what is missing, and it is tried again.
//
// Two kinds. While changes cannot be stored, nothing is started: the cluster's own disk is full, or broken.
// A launch that fails for a shortage holds back the jobs of that one user, whose disk or quota it may be, for
// a time that doubles from 2 s to a minute as long as it fails again. State's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/embedded/run_events.h"
#include "os/event_loop.h"

namespace minke::engine {

struct Core;
struct Job;

class Shortages : public RunListener {
 public:
  explicit Shortages(Core& core);

  // `problem`: one line.
  void launch_lacked(Job& job, const std::string& problem) override;
  // The committer cannot store, or can again.
  void store_changed();

  bool stops_all() const;
  // What keeps this user's jobs from starting; empty: nothing.
  const std::string& problem(uint32_t uid) const;
  // The same, for the reason of a job that waits.
  std::string reason(uint32_t uid) const;
  // For the administrator, a line for each user.
  template <typename Tell>
  void tell(Tell tell) const {
    for (const auto& [uid, one] : users_)
      if (one.holds) tell(uid, one.problem);
  }

 private:
  struct OfUser {
    std::string problem;
    bool holds = false;
    std::chrono::seconds delay{0};
    std::chrono::steady_clock::time_point next;  // a try; or, where it does not hold: it is forgotten
  };
  void set_timer();
  void look();
  void update_jobs(uint32_t uid);

  Core& core_;
  std::unordered_map<uint32_t, OfUser> users_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
