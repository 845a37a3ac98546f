// Shortages: handles jobs that could start but cannot be launched, because the machine currently lacks disk
// space, descriptors, processes or memory (os/shortage.h). The job is not at fault: it waits, its reason
// names the shortage, and its launch is tried again.
//
// There are two kinds. While changes cannot be stored, no job starts: the cluster's own disk is full or
// broken. If a launch fails because of a shortage, only that user's jobs wait, because the user's disk or
// quota may be full. The pause before the next try doubles from 2 s to one minute. State's thread.
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

  // `problem`: one line of text.
  void launch_lacked(Job& job, const std::string& problem) override;
  // The committer has become unable to store, or able again.
  void store_changed();

  bool stops_all() const;
  // What keeps this user's jobs from starting; empty: nothing.
  const std::string& problem(uint32_t uid) const;
  // The same as a reason text of a waiting job.
  std::string reason(uint32_t uid) const;
  // Reports to the administrator: one line per user.
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
    std::chrono::steady_clock::time_point next;  // of the next try; if not `holds`: when to forget it
  };
  void set_timer();
  void look();
  void update_jobs(uint32_t uid);

  Core& core_;
  std::unordered_map<uint32_t, OfUser> users_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
