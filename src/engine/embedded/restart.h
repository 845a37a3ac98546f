// Restart: how a daemon takes over the cluster of the daemon before it: first from the store, then from the
// launcher, then the waiting jobs.
//
// Invariants: load() runs before the launcher is asked; recovered() runs after its inventory has been settled
// (Recovery::callbacks); no client is answered before recovered(). State's thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::store {
struct DamagedRow;
struct Loaded;
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class Restart {
 public:
  explicit Restart(Core& core) : core_(core) {}

  // `boot_id`: that of the machine; it tells whether the machine was rebooted.
  Status load(const std::string& boot_id);
  // Call it when store and running jobs agree. Returns the number of jobs.
  size_t recovered();
  // Call it when clients are admitted. Sends what an earlier daemon still had to send.
  void go_on();
  // Records of the store that could not be read, now or earlier, and were set aside: "job 5".
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
