// Nodes and partitions as lines of a slurm.conf. Pure; any thread.
#pragma once

#include <string>

namespace minke::model {
class NodeRecord;
class PartitionRecord;
}  // namespace minke::model

namespace minke::view {

// Everything of a NodeName line but its names.
std::string node_properties(const model::NodeRecord& node);
// The whole PartitionName line; what is as Slurm has it by default is left out.
void append_partition_line(std::string& out, const model::PartitionRecord& partition);

}  // namespace minke::view
