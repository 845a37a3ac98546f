// Why a job of a real Slurm waits, and when it is expected to start: sched/'s own code, run forward on the
// records that Slurm has shown. What they do not tell is in the answer's notes. Pure.
#pragma once

#include <string>
#include <vector>

namespace minke::api {
class ExplainJobReply;
class JobSelector;
}  // namespace minke::api

namespace minke::model {
class NodeRecord;
class PartitionRecord;
}  // namespace minke::model

namespace minke::sched {
class World;
}  // namespace minke::sched

namespace minke::engine::slurm {

// False: the world has no such job that waits or runs.
bool explain(const sched::World& world, const api::JobSelector& asked, api::ExplainJobReply& reply);

// "n1: drained (broken fan)", and what is free on the others: of the nodes of the job's partitions.
void explain_nodes(const std::vector<model::NodeRecord>& nodes,
                   const std::vector<model::PartitionRecord>& partitions, api::ExplainJobReply& reply);

}  // namespace minke::engine::slurm
