// What JSON and text tell of a job in the same words. Pure.
#pragma once

#include <string>
#include <string_view>

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine::slurm {

// "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUE_HOLD", "CANCELLED by 2001": state and flags in any order.
void set_state_word(std::string_view word, model::JobRecord& job);
// A reason, or words that stand in its place; they are kept as its detail.
void set_reason(const std::string& reason, const std::string& description, model::JobRecord& job);
// "cpu=2,mem=1G,node=1,billing=2,gres/gpu=1": what it has, or asks for.
void set_tres(std::string_view tres, model::JobRecord& job);
// "afterok:1(unfulfilled)".
void set_dependencies(std::string_view words, model::JobRecord& job);
// "gres/gpu:a100:2", "gres:gpu:1": for each node, or for the job.
void set_tres_per_node(const std::string& words, model::JobRecord& job);
void set_tres_per_job(const std::string& words, model::JobRecord& job);
// node_list, with an equal part of what it has on each of its nodes where nothing else is known.
void set_nodes(const std::string& hosts, model::JobRecord& job);

}  // namespace minke::engine::slurm
