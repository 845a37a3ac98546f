// Advice for a user's next job, from how this one ended, its usage, and its log. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::helpers {

// Returns sentences, the most useful first; empty if there is nothing to say. `log` is the end of its output.
std::vector<std::string> advice(const api::AccountedJob& job, std::string_view log);

}  // namespace minke::helpers
