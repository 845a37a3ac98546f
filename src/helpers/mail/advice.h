// What a user should change next time, from how a job ended, what it used, and what its log says. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::helpers {

// Sentences, the most useful first; empty where there is nothing to say. `log`: the end of what it wrote.
std::vector<std::string> advice(const api::AccountedJob& job, std::string_view log);

}  // namespace minke::helpers
