// The records of `scontrol show`, as blocks of Name=Value lines or one line each. Pure.
#pragma once

#include <span>
#include <string>

#include "view/block.h"
#include "view/text.h"

namespace minke::api {
class ConfigReply;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
class NodeRecord;
class PartitionRecord;
class StepRecord;
}  // namespace minke::model

namespace minke::cli {

// `waiting_task`: only that one of the array's pending tasks; nullptr: the record as it is.
void append_job_block(std::string& out, const model::JobRecord& job, const uint32_t* waiting_task,
                      const view::DisplayContext& context, view::ShowOptions options);
void append_node_block(std::string& out, const model::NodeRecord& node, const view::DisplayContext& context,
                       view::ShowOptions options);
void append_partition_block(std::string& out, const model::PartitionRecord& partition,
                            const view::DisplayContext& context, view::ShowOptions options);
void append_step_block(std::string& out, const model::StepRecord& step, const model::JobRecord& job,
                       const view::DisplayContext& context, view::ShowOptions options);
void append_configuration(std::string& out, const api::ConfigReply& config,
                          const view::DisplayContext& context);

}  // namespace minke::cli
