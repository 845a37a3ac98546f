// What the launcher knows of its launches: those that run, and those that ended and are not yet collected.
//
// The table changes by journal records only, the same ones live and on a restart: what the launcher knows is
// by construction what its journal says. No I/O; one owner, one thread.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/step_record.pb.h"
#include "node/launch.pb.h"

namespace minke::node {
class JournalRecord;
}  // namespace minke::node

namespace minke::node {

// One run of a job: a requeued job's next run is another one.
struct JobKey {
  uint32_t job_id = 0;
  uint32_t run = 0;
  auto operator<=>(const JobKey&) const = default;
};

struct LaunchKey {
  JobKey job;
  model::StepKind kind = model::STEP_NORMAL;
  uint32_t step_id = 0;
  auto operator<=>(const LaunchKey&) const = default;

  static LaunchKey of(const LaunchId& id);
  LaunchId id() const;
};

struct LaunchState {
  struct Task {
    uint32_t rank = 0;
    pid_t pid = 0;  // 0: not started
    std::optional<TaskEnd> end;
  };
  LaunchKey key;
  std::vector<Task> tasks;  // in the order's order
  std::string tag;
  std::string tmp_dir;
  bool ends_job = false;
  int64_t start_time = 0;  // s since the epoch
  int64_t end_time = 0;    // 0: runs
  std::string launch_error;
  uint32_t error_number = 0;  // of launch_error, where it is known
  bool lost = false;
  uint64_t launching_ticks = 0;  // its first processes were forked between these (clock ticks since boot)
  uint64_t running_ticks = 0;    // 0: the launcher died before it had forked them all

  // The daemon may be told the end: false while what the job has left is still being cleared away.
  // Not of the journal: the launcher's own.
  bool announced = false;

  bool ended() const { return end_time != 0; }
};

class LaunchTable {
 public:
  using Launches = std::map<LaunchKey, LaunchState>;

  // A record of a launch that the table does not have is ignored.
  void apply(const JournalRecord& record);

  LaunchState* find(const LaunchKey& key);
  // The launches of one run of a job.
  std::vector<LaunchState*> launches_of(const JobKey& job);
  Launches& all() { return launches_; }
  const Launches& all() const { return launches_; }
  bool empty() const { return launches_.empty(); }

  // The shortest journal that leads to this table.
  std::vector<JournalRecord> records() const;

 private:
  Launches launches_;
};

// What a daemon is told. `with_tag`: in the inventory.
Launch to_message(const LaunchState& launch, bool with_tag);

}  // namespace minke::node
