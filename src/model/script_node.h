// Which of a job's nodes runs its batch script. Pure; any thread.
#pragma once

namespace minke::model {

class JobRecord;
class NodeAllocation;

// Returns the node that runs a job's script. There must be nodes.
const NodeAllocation& script_node(const JobRecord& record);

}  // namespace minke::model
