// A module `glost` for job scripts that distribute a list of commands with it: Minke's own
// glost_launch and glost_filter.sh, scripts.
//
// Its tasks take lines in turn from a counter, a file under a lock. On one node it is in the job's temporary
// directory; on several in the working directory, which they share, and whose file system carries locks from
// node to node (NFS and Lustre do, unless they are mounted with locks of one node alone: that is refused). So
// there is no server whose death ends the others, no port, and no secret. Pure; any thread.
#pragma once

#include "software/found.h"

namespace minke::software {

Found glost();

}  // namespace minke::software
