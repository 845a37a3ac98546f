// Commands of minke that have a file of their own. Each returns the exit status; at most once in a process.
#pragma once

#include <string>

namespace minke::cli {

int mailer(const std::string& home, const std::string& configuration);

}  // namespace minke::cli
