// minke why: what a job waits for, in plain words. Pure; any thread.
#pragma once

#include <string>

#include "cli/display/text.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

// Of a job that waits or runs.
std::string why_report(const rpc::ExplainJobReply& reply, const DisplayContext& context);
// Of one that has ended, as the accounting has it.
std::string why_ended_report(const model::JobRecord& job, const DisplayContext& context);
std::string why_json(const rpc::ExplainJobReply& reply, const DisplayContext& context);
std::string why_ended_json(const model::JobRecord& job, const DisplayContext& context);

}  // namespace minke::cli
