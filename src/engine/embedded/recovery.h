// What the launcher has of jobs when the daemon comes to it, or comes back: those are taken up as they are,
// what the daemon knows and the launcher does not is sent again or has ended.
//
// Stands above launching, steps and lifecycle, and is called by none of them. Nothing is scheduled before the
// first inventory has been settled, nor while the launcher is away. State's thread.
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
  // Before the launcher is asked: which boot of the machine, and which journal of the launcher, the stored
  // jobs are of. Jobs that ran when the machine went down, or when the journal was lost, and that the
  // launcher does not know are gone, not still to be launched.
  void restore(store::LoadedRows& rows, std::string boot_id);

 private:
  using Run = std::pair<uint32_t, uint32_t>;  // job id, restarts

  void on_inventory(const node::Inventory& inventory);
  std::set<Run> recover(const node::Inventory& inventory);  // the runs whose script it knows
  bool recover_script(const node::Launch& launch);          // true: its end is to be taken up
  Job* leave_array(Job& array, const model::JobRecord& task);
  bool was_tried_again(const node::Launch& launch) const;
  void settle_unknown(const std::set<Run>& known);
  void settle(Job& job);  // one that should be running, and that the launcher does not know
  void settle_component(Job& job, bool waits);   // a heterogeneous job's, but the first
  void settle_allocation(Job& job, bool waits);  // an interactive one
  void settle_script(Job& job, bool waits);
  // Its launch was known once, as far as can be told.
  bool may_have_run(const Job& job) const;
  void go_on_stopping();  // what is being stopped, or is suspended: the order may have been lost
  void clear_tmp_dirs(const node::Inventory& inventory);
  void note_settled(const node::Inventory& inventory);
  void resume_waiting();  // what waits and could start is in the scheduler's queue

  Core& core_;
  std::string boot_id_, stored_boot_id_;
  std::string journal_id_;     // of the launcher's journal, as stored; empty: not known yet
  bool rebooted_ = false;      // since the stored jobs ran
  bool journal_lost_ = false;  // with what it said of the stored jobs
  std::function<void()> on_recovered_;
};

}  // namespace minke::engine
