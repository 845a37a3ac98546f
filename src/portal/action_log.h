// What was changed through this user's portals: who, when, what, and with what outcome; a line each in a file
// of his own that others cannot read. Bounded: a full file becomes the one before, and that one goes.
// Blocking; any thread. Failures to write are no reason to refuse a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace minke::portal {

struct LoggedAction {
  int64_t time = 0;  // s since the epoch
  std::string user;
  std::string what;  // "POST /api/v1/jobs/12/cancel"
  unsigned status = 0;
};

void log_action(const LoggedAction& action);
// The newest first, at most so many.
std::vector<LoggedAction> actions_logged(size_t most);

}  // namespace minke::portal
