// The records of `scontrol show`, as blocks of Name=Value lines or one line each. Pure.
#pragma once

#include <span>
#include <string>

#include "cli/display/text.h"
#include "model/cluster.pb.h"
#include "model/job.pb.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

struct ShowOptions {
  bool one_line = false;  // --oneliner
  bool details = false;   // --details
  bool wckeys = false;    // of jobs: TrackWCKey
};

// `waiting_task`: only that one of the tasks of an array that wait; nullptr: the record as it is.
void append_job_block(std::string& out, const model::JobRecord& job, const uint32_t* waiting_task,
                      const DisplayContext& context, ShowOptions options);
void append_node_block(std::string& out, const model::NodeRecord& node, const DisplayContext& context,
                       ShowOptions options);
void append_partition_block(std::string& out, const model::PartitionRecord& partition,
                            const DisplayContext& context, ShowOptions options);
void append_step_block(std::string& out, const model::StepRecord& step, const model::JobRecord& job,
                       const DisplayContext& context, ShowOptions options);
void append_configuration(std::string& out, const rpc::ConfigReply& config, const DisplayContext& context);

}  // namespace minke::cli
