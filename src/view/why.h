// minke why: the reason why a job is pending, in plain words. Pure; any thread.
#pragma once

#include <string>
#include <vector>

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
// What else is known of an ended job: what to do, and the last lines of its output, cleaned.
struct EndedDetails {
  std::vector<std::string> advice = {};
  std::string log_path = {};  // empty: not known, or not to be read
  std::string log = {};
};
// For an ended job, from its accounting record.
std::string why_ended_report(const model::JobRecord& job, const DisplayContext& context,
                             const EndedDetails& details = {});
// The ended tasks of an array in a line: "Of 6 tasks that have ended 2 failed: 3, 5." `tasks` is not empty.
std::string array_summary(const std::vector<const model::JobRecord*>& tasks);
std::string why_json(const api::ExplainJobReply& reply, const DisplayContext& context);
std::string why_ended_json(const model::JobRecord& job, const DisplayContext& context);

}  // namespace minke::view
