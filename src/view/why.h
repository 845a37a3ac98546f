// minke why: the reason why a job is pending, in plain words. Pure; any thread.
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

// For a pending or running job.
std::string why_report(const api::ExplainJobReply& reply, const DisplayContext& context);
// For an ended job, from its accounting record.
std::string why_ended_report(const model::JobRecord& job, const DisplayContext& context);
std::string why_json(const api::ExplainJobReply& reply, const DisplayContext& context);
std::string why_ended_json(const model::JobRecord& job, const DisplayContext& context);

}  // namespace minke::view
