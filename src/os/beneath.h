// Opens files in directories that users may write to, for root: from an open directory downwards, without
// symbolic links, and with a check of the owner. A process with root's rights opens no path of a user in any
// other way (docs/architecture.md, "What root touches"). Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::os {

// Opens a relative path below an open directory. Nothing on the way may lead out of it, or be a symbolic link
// (openat2; before Linux 5.6 one component after the other). O_CLOEXEC is set. Errors: errno; ELOOP, EXDEV: a
// link, or a way out.
Result<UniqueFd> open_beneath(int directory, const std::string& path, int flags);

// Checks that root owns an open directory, and nobody else may add to it. Fails with EPERM.
Status check_roots_directory(int directory, const std::string& shown);

}  // namespace minke::os
