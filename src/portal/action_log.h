// What was changed through portals: who, when, what, and with what outcome; a line each.
//
// A user's own portals, and his worker at a shared one, write to a file of his own that others cannot read. A
// full file becomes the one before, and that one goes. A shared portal keeps the lines of all in a file of
// root's as well, which the group of operators may read: the kernel decides who does. Its front has it open,
// and may not open another: a full file loses its first half.
//
// Blocking; any thread. Failures to write are no reason to refuse a request.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "os/fd.h"

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

// For root: makes it if need be, for the members of `readers` to read (-1: for root alone). None: it cannot
// be.
os::UniqueFd open_shared_log(const std::string& file, gid_t readers);
void log_shared_action(int log, const LoggedAction& action);
// Nothing where this process may not read it.
std::vector<LoggedAction> shared_actions_logged(const std::string& file, size_t most);

}  // namespace minke::portal
