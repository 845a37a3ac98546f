// LaunchTable: the launches that the launcher knows: running ones, and ended ones that are not yet collected.
//
// Only journal records change the table, and they do so in the same way live and after a restart. So the
// launcher always knows exactly what its journal says. No I/O; one owner, one thread.
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

// One run of a job. When a job is requeued, its next run has another key.
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
  uint32_t error_number = 0;  // errno of launch_error, if known
  bool lost = false;
  uint64_t launching_ticks = 0;  // clock ticks since boot: its first processes were forked between
  uint64_t running_ticks = 0;    // these two; 0: the launcher died before it had forked them all

  // Whether the daemon may be told of the end: false while remains of the job are being cleared away. The
  // launcher sets it; it is not part of the journal.
  bool announced = false;

  bool ended() const { return end_time != 0; }
};

class LaunchTable {
 public:
  using Launches = std::map<LaunchKey, LaunchState>;

  // A record of an unknown launch is ignored.
  void apply(const JournalRecord& record);

  LaunchState* find(const LaunchKey& key);
  // The launches of one run of a job.
  std::vector<LaunchState*> launches_of(const JobKey& job);
  Launches& all() { return launches_; }
  const Launches& all() const { return launches_; }
  bool empty() const { return launches_.empty(); }

  // The shortest journal that produces this table.
  std::vector<JournalRecord> records() const;

 private:
  Launches launches_;
};

// The message to a daemon. `with_tag`: for the inventory.
Launch to_message(const LaunchState& launch, bool with_tag);

}  // namespace minke::node
