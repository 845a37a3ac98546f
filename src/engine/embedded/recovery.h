// Recovery: settles jobs when the daemon connects to the launcher, for the first time or again. Launches that
// the launcher has are taken over. A run that only the daemon knows is launched again, or has ended.
//
// It calls Launching, Steps and Lifecycle; none of them calls it. Nothing is scheduled before the first
// inventory has been settled, nor while the launcher is away. State's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/launcher_client.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::node {
class Inventory;
class Launch;
}  // namespace minke::node

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;
struct Job;

class Recovery {
 public:
  explicit Recovery(Core& core) : core_(core) {}

  // For the launcher's client. `on_recovered` is called once, when the first inventory has been settled.
  node::LauncherClient::Callbacks callbacks(std::function<void()> on_recovered);
  // Call it before the launcher is asked. Restores which boot of the machine and which launcher journal the
  // stored jobs belong to. A job that ran before a reboot or before the loss of the journal, and that the
  // launcher does not know, is lost and must not be launched.
  void restore(store::LoadedRows& rows, std::string boot_id);

 private:
  using Run = std::pair<uint32_t, uint32_t>;  // job id, restarts

  void on_inventory(const node::Inventory& inventory);
  std::set<Run> recover(const node::Inventory& inventory);  // the runs whose script it knows
  bool recover_script(const node::Launch& launch);          // true: its end is to be processed
  Job* leave_array(Job& array, const model::JobRecord& task);
  bool was_tried_again(const node::Launch& launch) const;
  void settle_unknown(const std::set<Run>& known);
  void settle(Job& job);  // a job that should be running but that the launcher does not know
  void settle_component(Job& job, bool waits);   // of a heterogeneous job, except the first
  void settle_allocation(Job& job, bool waits);  // an interactive job's
  void settle_script(Job& job, bool waits);
  // Whether the launcher has probably known its launch before.
  bool may_have_run(const Job& job) const;
  void go_on_stopping();  // repeats orders to stop or suspend, which may have been lost
  void clear_tmp_dirs(const node::Inventory& inventory);
  void note_settled(const node::Inventory& inventory);
  void resume_waiting();  // puts waiting jobs that could start in the scheduler's queue

  Core& core_;
  std::string boot_id_, stored_boot_id_;
  std::string journal_id_;     // of the launcher's journal, as stored; empty: not known yet
  bool rebooted_ = false;      // since the stored jobs ran
  bool journal_lost_ = false;  // and with it what it said of the stored jobs
  std::function<void()> on_recovered_;
};

}  // namespace minke::engine
