// The file that this process runs: what starts this program again, and what units, links and other machines
// name or copy. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace minke::os {

// Its absolute path. An error where /proc is not mounted. The file may have been replaced or removed since
// the process began; its path ends in " (deleted)" then, as the kernel tells it.
Result<std::string> this_program();

}  // namespace minke::os
