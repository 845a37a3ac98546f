// The settings of a waiting job that its owner may change, as lines NAME=VALUE in scontrol update's words:
// what minke edit shows, and the difference that was made there. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "view/text.h"

namespace minke::view {

using JobSettings = std::vector<std::pair<std::string, std::string>>;  // name and value

JobSettings job_settings(const model::JobRecord& job, const DisplayContext& context);
// With a comment in front that says what the lines are.
std::string settings_text(const model::JobRecord& job, const JobSettings& settings);

// Returns the settings whose values differ from those before. Lines that begin with # and empty ones do not
// count; what was removed stays as it was. Fails on a line that is no NAME=VALUE, and on a name that was not
// there; the message has the line's number.
Result<JobSettings> changed_settings(const JobSettings& before, std::string_view text);

}  // namespace minke::view
