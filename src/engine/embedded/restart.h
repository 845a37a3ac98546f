// How a daemon takes up the cluster that the one before it left: first what the store has, then what the
// launcher says, then what waits.
//
// Invariants: load() comes before the launcher is asked; recovered() after its inventory has been settled
// (Launching::callbacks); nobody is answered before recovered(). State's thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace minke::engine {

struct Core;

class Restart {
 public:
  explicit Restart(Core& core) : core_(core) {}

  // `boot_id`: the machine's, which tells whether it was restarted.
  Status load(const std::string& boot_id);
  // What the store has and what runs agree. The result: the number of jobs.
  size_t recovered();
  // Clients are admitted: what an earlier daemon had still to tell is told.
  void go_on();
  // What of the store could not be read, now or earlier, and is set aside: "job 5".
  std::vector<std::string> damaged() const;

 private:
  void restore_rows(store::LoadedRows& rows, const std::string& boot_id);
  void restore_jobs(store::Loaded& loaded);
  void set_aside(const std::vector<store::DamagedRow>& rows);
  Status count_ended_tasks();

  Core& core_;
  std::vector<std::string> damaged_;  // found at this start
};

}  // namespace minke::engine
