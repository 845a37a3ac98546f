#include "model/script_node.h"

#include <algorithm>

#include "model/job_record.pb.h"

namespace minke::model {

const NodeAllocation& script_node(const JobRecord& record) {
  const auto found = std::find_if(record.nodes().begin(), record.nodes().end(),
                                  [&](const auto& node) { return node.node() == record.batch_host(); });
  return found == record.nodes().end() ? record.nodes(0) : *found;
}

}  // namespace minke::model
