// Where in what a job holds its batch script runs. Pure; any thread.
#pragma once

namespace minke::model {

class JobRecord;
class NodeAllocation;

// The node that runs a job's script. There must be nodes.
const NodeAllocation& script_node(const JobRecord& record);

}  // namespace minke::model
