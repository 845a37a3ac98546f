// Jobs, nodes, partitions and the accounting record for --json and --yaml: the shape of Slurm's data_parser
// v0.0.42, which slurmrestd also has.
//
// Each function writes one value of an array that the caller has opened. Pure.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "view/document/document.h"
#include "view/sinfo.h"
#include "view/text.h"

namespace minke::api {
class PidsReply_Process;
}  // namespace minke::api

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
std::string data_parser_name(int version);

// Sockets of a node, cores of each, threads of each.
struct NodeLayout {
  uint32_t sockets = 1, cores = 1, threads = 1;
};
using NodeLayouts = std::map<std::string, NodeLayout, std::less<>>;
NodeLayouts layouts_of(std::span<const model::NodeRecord* const> nodes);

// With `layouts`, the cores that the job holds are told.
void describe_job(Document& document, const model::JobRecord& job, const uint32_t* waiting_task,
                  const DisplayContext& context, const NodeLayouts* layouts = nullptr);
void describe_node(Document& document, const model::NodeRecord& node, const DisplayContext& context);
// Writes a line of sinfo: nodes of one partition that are alike.
void describe_node_line(Document& document, const NodeLine& line, const DisplayContext& context);
// Writes its "state": the base state, and DRAIN beside it.
void describe_node_states(Document& document, const model::NodeRecord& node);
void describe_partition(Document& document, std::string_view key, const model::PartitionRecord& partition,
                        const DisplayContext& context);
// A step of a running job, as squeue and scontrol have it; describe_step is of the accounting record.
void describe_queued_step(Document& document, const model::StepRecord& step, const model::JobRecord& job,
                          const DisplayContext& context);
// scontrol listpids, liststeps, listjobs.
void describe_listed_process(Document& document, const api::PidsReply_Process& process);
void describe_listed_step(Document& document, const model::StepRecord& step);
// Its number and state alone.
void describe_job_state(Document& document, const model::JobRecord& job, const uint32_t* waiting_task,
                        const DisplayContext& context);
void describe_step(Document& document, const model::StepRecord& step, const DisplayContext& context);
// Writes the job with these steps, in this order.
void describe_accounted_job(Document& document, const model::JobRecord& job,
                            std::span<const model::StepRecord* const> steps, const DisplayContext& context);

// The end of every document: who asked for what of which cluster, errors and warnings.
struct DocumentOrigin {
  std::vector<std::string> command;  // its words
  std::string user, group, terminal;
  std::string plugin_type = {}, plugin_name = {};  // of a server of pages: what answered
  std::vector<Error> errors = {};
  std::vector<std::string> warnings = {};
};
DocumentOrigin document_origin(int argc, char** argv);  // of this process
void describe_origin(Document& document, const DocumentOrigin& origin, const DisplayContext& context);

// Both files that describe records use these.
void describe_exit_code(Document& document, std::string_view key, int32_t wait_status);
void describe_job_resources(Document& document, const model::JobRecord& job, const NodeLayouts* layouts);
void describe_job_states(Document& document, std::string_view key, const model::JobRecord& job);
void describe_states(Document& document, std::string_view key, model::JobState state, bool completing);
// Writes {"set": true, …} if the time is known, unset at 0.
void describe_time(Document& document, std::string_view key, int64_t time);

}  // namespace minke::view
