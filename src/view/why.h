// minke why: what a job waits for, in plain words. Pure; any thread.
#pragma once

#include <string>

#include "view/text.h"

namespace minke::api {
class ExplainJobReply;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

// Of a job that waits or runs.
std::string why_report(const api::ExplainJobReply& reply, const DisplayContext& context);
// Of one that has ended, as the accounting has it.
std::string why_ended_report(const model::JobRecord& job, const DisplayContext& context);
std::string why_json(const api::ExplainJobReply& reply, const DisplayContext& context);
std::string why_ended_json(const model::JobRecord& job, const DisplayContext& context);

}  // namespace minke::view
