// Nodes: the current nodes and partitions: the configuration plus what operators changed since (`scontrol
// update`, `create`, `delete`). These changes are durable. Owned by the state's thread.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "accounts/tres_weights.h"
#include "base/result.h"
#include "config/configuration.h"
#include "model/cluster.pb.h"
#include "sched/make_request.h"

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

  // Applies what the files changed of partitions. What they did not change stays as operators left it. A
  // partition that they no longer have stays while it has jobs. `before`: what the files said until now.
  void reconfigure(const std::vector<model::PartitionRecord>& before);
  // Applies the changes that operators made before the restart.
  void restore(store::LoadedRows& rows);

  const std::vector<model::NodeRecord>& nodes() const { return nodes_; }
  const std::vector<model::PartitionRecord>& partitions() const { return partitions_; }
  std::vector<model::NodeRecord> offered() const;  // the nodes with only their active features
  const model::NodeRecord* find_node(const std::string& name) const;
  const model::PartitionRecord* find_partition(const std::string& name) const;
  const model::PartitionRecord& default_partition() const;
  // Null if the partition bills CPUs.
  const accounts::TresWeights* billing_weights(const std::string& partition) const;

  // GPUs that the driver cannot reach, by UUID, with its message. No job gets them until the driver reaches
  // them again. The reason of their node names them.
  void set_lost_gpus(std::map<std::string, std::string> lost);
  const std::map<std::string, std::string>& lost_gpus() const { return lost_gpus_; }

  // When a job last ended on it, in s since the epoch; 0: none has since the daemon's start.
  void job_left(const std::string& node, int64_t time) { last_ends_[node] = time; }
  int64_t last_end(const std::string& node) const;

  // Applies everything, or nothing and returns an error with Slurm's number.
  Status update_node(const api::UpdateNodeRequest& request, uint32_t uid);
  // `book` must have the QOS that the partition names.
  Status change_partition(const api::UpdatePartitionRequest& request, const accounts::AccountBook& book);

  // Chooses the job's partitions: those of its list that accept such a job of this user. A job without a
  // partition goes to one that serves its kind (nodes_routing.cpp), or to the default one if no partition
  // serves a kind. `spec` gets the list of the chosen partitions. If there is none, the error is the first
  // partition's reason to refuse the job.
  Status choose_partitions(model::JobSpec& spec, uint32_t uid) const;
  // The same for a job whose account and QOS, where it names none, are those of `named`.
  Status choose_partitions(model::JobSpec& spec, uint32_t uid, const model::JobSpec& named) const;
  // Whether it asks for more nodes, or processors, than the whole partition has.
  bool is_larger_than(const model::JobSpec& spec, const std::string& partition) const;
  // Whether the partition takes a job that waits, now that partitions have changed or while it waits for
  // that (EnforcePartLimits=NO). `spec` names its account and QOS.
  Status takes(const std::string& partition, const model::JobSpec& spec, uint32_t uid) const;

 private:
  std::string route(const model::JobSpec& spec) const;  // empty: no partition serves it
  std::vector<const model::NodeRecord*> nodes_of(const model::PartitionRecord& partition) const;
  const model::PartitionRecord* configured(const std::string& partition) const;
  bool has_jobs(const std::string& partition) const;
  void restore(model::PartitionRecord stored);
  void keep(const model::NodeRecord& node);
  void keep(const model::PartitionRecord& partition);
  // Replaces the partition of the same name. Another partition may cease to be the default.
  void replace(const model::PartitionRecord& changed);

  // Parts of update_node() and change_partition().
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
  std::unordered_map<std::string, int64_t> last_ends_;  // by node
  // By text: billing weights that operators have changed.
  mutable std::map<std::string, accounts::TresWeights> changed_weights_;
};

// Applies one NAME=VALUE of `scontrol update node`. An unsupported one is refused with a reason. `busy`:
// jobs hold some of the node. Pure.
Status apply_node_field(model::NodeRecord& node, const api::Field& field, bool busy);

using sched::is_scheduled;
// Nodes that are there to take jobs.
bool is_available(model::NodeState state);
inline bool is_down(model::NodeState state) {
  return state == model::NODE_DOWN || state == model::NODE_DOWN_DRAIN || state == model::NODE_FUTURE;
}

}  // namespace minke::engine
