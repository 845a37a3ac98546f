// Jobs, nodes, partitions and the accounting record for --json and --yaml: the shape of Slurm's data_parser
// v0.0.42, which slurmrestd also has.
//
// Each function writes one value of an array that the caller has opened. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "view/document/document.h"
#include "view/sinfo.h"
#include "view/text.h"

namespace minke::model {
class JobRecord;
enum JobState : int;
class NodeRecord;
class PartitionRecord;
class StepRecord;
}  // namespace minke::model

namespace minke::view {

// Checks the value of --json or --yaml (may be empty): the wanted data_parser. Fails on a
// version of another shape.
Status check_data_parser(std::string_view value);
inline constexpr std::string_view kDataParser = "data_parser/v0.0.42";

void describe_job(Document& document, const model::JobRecord& job, const uint32_t* waiting_task,
                  const DisplayContext& context);
void describe_node(Document& document, const model::NodeRecord& node, const DisplayContext& context);
// Writes a line of sinfo: nodes of one partition that are alike.
void describe_node_line(Document& document, const NodeLine& line, const DisplayContext& context);
// Writes its "state": the base state, and DRAIN beside it.
void describe_node_states(Document& document, const model::NodeRecord& node);
void describe_partition(Document& document, std::string_view key, const model::PartitionRecord& partition,
                        const DisplayContext& context);
void describe_step(Document& document, const model::StepRecord& step, const DisplayContext& context);
// Writes the job with these steps, in this order.
void describe_accounted_job(Document& document, const model::JobRecord& job,
                            std::span<const model::StepRecord* const> steps, const DisplayContext& context);

// The end of every document: who asked for what of which cluster, errors and warnings.
struct DocumentOrigin {
  std::vector<std::string> command;  // its words
  std::string user, group, terminal;
};
DocumentOrigin document_origin(int argc, char** argv);  // of this process
void describe_origin(Document& document, const DocumentOrigin& origin, const DisplayContext& context);

// Both files that describe records use these.
void describe_exit_code(Document& document, std::string_view key, int32_t wait_status, bool has_ended);
void describe_states(Document& document, std::string_view key, model::JobState state, bool completing);
// Writes {"set": true, …} if the time is known, unset at 0.
void describe_time(Document& document, std::string_view key, int64_t time);

}  // namespace minke::view
