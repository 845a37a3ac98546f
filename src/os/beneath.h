// How root reaches what lies in directories that users may write to: from an open directory of its own
// downwards, without any symbolic link, and with a look at whose it is. No path of a user's is opened in any
// other way by a process that has root's rights (docs/architecture.md, "What root touches"). Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::os {

// Opens a relative path below an open directory. Nothing on the way may lead out of it, or be a symbolic
// link (openat2; before Linux 5.6 one component after the other). O_CLOEXEC is set. Errors: errno; ELOOP,
// EXDEV: a link, or a way out.
Result<UniqueFd> open_beneath(int directory, const std::string& path, int flags);

// Whether an open directory is root's, and nobody else may put something into it. Errors: EPERM.
Status check_roots_directory(int directory, const std::string& shown);

}  // namespace minke::os
