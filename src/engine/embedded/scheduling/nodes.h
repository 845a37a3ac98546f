// The nodes and partitions as they stand: what is configured, and what operators changed since (`scontrol
// update`, `create`, `delete`), which is durable. Owned by the state's thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "accounts/tres_weights.h"
#include "base/result.h"
#include "config/configuration.h"
#include "model/cluster.pb.h"
#include "sched/make_request.h"
#include "store/store.h"

namespace minke::accounts {
class AccountBook;
}  // namespace minke::accounts

namespace minke::api {
class Field;
class UpdateNodeRequest;
class UpdatePartitionRequest;
}  // namespace minke::api

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class Nodes {
 public:
  explicit Nodes(Core& core);

  // What the configuration says is in force again, but for states and for partitions that were created. A
  // partition that it no longer has stays while jobs are in it.
  void reconfigure();
  // Applies what operators had changed before the restart.
  void restore(store::LoadedRows& rows);

  const std::vector<model::NodeRecord>& nodes() const { return nodes_; }
  const std::vector<model::PartitionRecord>& partitions() const { return partitions_; }
  std::vector<model::NodeRecord> offered() const;  // the nodes, with their active features alone
  const model::NodeRecord* find_node(const std::string& name) const;
  const model::PartitionRecord* find_partition(const std::string& name) const;
  const model::PartitionRecord& default_partition() const;
  // Null where CPUs are billed.
  const accounts::TresWeights* billing_weights(const std::string& partition) const;

  // GPUs that the driver does not reach, by UUID, and what it says. Nothing is placed on them any more until
  // it reaches them again; their node's reason tells of them.
  void set_lost_gpus(std::map<std::string, std::string> lost);
  const std::map<std::string, std::string>& lost_gpus() const { return lost_gpus_; }

  // All of it, or nothing and an error with Slurm's number.
  Status update_node(const api::UpdateNodeRequest& request, uint32_t uid);
  // `book`: where the QOS that a partition names must be.
  Status change_partition(const api::UpdatePartitionRequest& request, const accounts::AccountBook& book);

  // Of the partitions that the job asks for, those that take such jobs of this user; an error where none
  // does.
  // One that names none goes where its kind is served (nodes_routing.cpp), or to the default one where no
  // partition serves a kind.
  Status choose_partitions(model::JobSpec& spec, uint32_t uid) const;

 private:
  std::string route(const model::JobSpec& spec) const;  // empty: no partition serves it
  std::vector<const model::NodeRecord*> nodes_of(const model::PartitionRecord& partition) const;
  const model::PartitionRecord* configured(const std::string& partition) const;
  bool has_jobs(const std::string& partition) const;
  void restore(model::PartitionRecord stored);
  void keep(const model::NodeRecord& node);
  void keep(const model::PartitionRecord& partition);
  // Puts `changed` in the place of the partition of its name; another one may lose its being the default.
  void replace(const model::PartitionRecord& changed);

  // Of update_node() and change_partition().
  Result<std::vector<std::string>> names_in(const std::string& list) const;
  Result<model::NodeRecord> changed_node(const model::NodeRecord& present,
                                         const api::UpdateNodeRequest& request, uint32_t uid) const;
  void take_over(const std::vector<model::NodeRecord>& changed, bool layout_changed);
  Result<model::PartitionRecord> new_partition(const std::string& name) const;
  Status delete_partition(const std::string& name);

  Core& core_;
  std::vector<model::NodeRecord> nodes_;
  std::vector<model::PartitionRecord> partitions_;
  std::map<std::string, std::string> lost_gpus_;
  // Of partitions whose billing weights somebody has changed, by their text.
  mutable std::map<std::string, accounts::TresWeights> changed_weights_;
};

// One NAME=VALUE of `scontrol update node`, applied; what is not done here is refused with a reason. `busy`:
// jobs hold some of it. Pure.
Status apply_node_field(model::NodeRecord& node, const api::Field& field, bool busy);

using sched::is_scheduled;
// Nodes that are there to take jobs.
bool is_available(model::NodeState state);
inline bool is_down(model::NodeState state) {
  return state == model::NODE_DOWN || state == model::NODE_DOWN_DRAIN || state == model::NODE_FUTURE;
}

}  // namespace minke::engine
