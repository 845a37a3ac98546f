// The nodes and partitions as they stand: what is configured, and what operators changed since (`scontrol
// update`), which is durable. Owned by the state's thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/config.h"
#include "model/cluster.pb.h"
#include "rpc/messages.pb.h"
#include "store/store.h"

namespace minke::engine {

struct Core;

class Nodes {
 public:
  explicit Nodes(Core& core);

  // Applies what operators had changed before the restart.
  // New limits and defaults of the same partitions; states that an operator has set stay.
  void reconfigure(const std::vector<model::PartitionRecord>& partitions);
  void restore(const std::vector<std::pair<std::string, std::string>>& settings);

  const std::vector<model::NodeRecord>& nodes() const { return nodes_; }
  const std::vector<model::PartitionRecord>& partitions() const { return partitions_; }
  const model::PartitionRecord* find_partition(const std::string& name) const;
  const model::PartitionRecord& default_partition() const;

  Status update_node(const rpc::UpdateNodeRequest& request, uint32_t uid);
  Status update_partition(const rpc::UpdatePartitionRequest& request);

 private:
  Core& core_;
  std::vector<model::NodeRecord> nodes_;
  std::vector<model::PartitionRecord> partitions_;
};

}  // namespace minke::engine
