// A module `glost` for job scripts that distribute a list of commands with it: Minke's own
// glost_launch and glost_filter.sh, scripts.
//
// Its tasks take lines in turn from a counter in the job's temporary directory, which all nodes of one
// machine share. Pure; any thread.
#pragma once

#include "software/found.h"

namespace minke::software {

Found glost();

}  // namespace minke::software
