// Jobs as /api/v1 has them. What people chose (names, comments) is without characters that are obeyed or that
// turn the direction of writing, as in all commands; times are seconds since the epoch, 0: none. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "portal/message.h"

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {
struct NodeEvent;
}  // namespace minke::view

namespace minke::portal {

using Json = nlohmann::ordered_json;

Reply json_reply(const Json& value);

// A line of a list ("job" of schemas.cpp).
Json job_row(const model::JobRecord& job, int64_t now);
// What only the job's own page shows ("job_details").
Json job_details(const model::JobRecord& job);
// The numbers of seff ("efficiency"), with its warning about where they come from, if any.
Json efficiency_json(const api::AccountedJob& accounted, int64_t now, const std::string& note);
Json steps_json(const api::AccountedJob& accounted, int64_t now);

// A node out of use, and a job that ended with its node ("node_event").
Json node_event_json(const view::NodeEvent& event);
Json failed_node_json(const model::JobRecord& job);

uint64_t gpus_of(const model::JobRecord& job);

}  // namespace minke::portal
