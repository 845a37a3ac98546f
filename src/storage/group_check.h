// Finds the classic causes of "Disk quota exceeded" in a project's directory: files that count for another
// group, and directories that do not pass on theirs (setgid). With the caller's rights; blocking.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/failures.h"

namespace minke::storage {

struct GroupFindings {
  uint64_t other_group = 0;           // entries of another group
  uint64_t not_handed_down = 0;       // directories without setgid
  std::vector<std::string> examples;  // a few of them
  uint64_t mended = 0;                // of both
  Failures failures;
};

// `mend` gives entries the group, and directories setgid. Fails if the directory cannot be opened.
Status check_groups(const std::string& directory, gid_t group, bool mend, GroupFindings& findings);

}  // namespace minke::storage
