// Slurm's own answer to what an engine of a real Slurm does not tell: its commands print the documents of
// slurmrestd themselves. Blocking; a worker's thread.
#pragma once

#include <string_view>

#include "portal/routes.h"

namespace minke::portal {

// The whole page, as the cluster's command prints it in this version. Error: this is no real Slurm, it has no
// such command, or not this version.
Result<Reply> native_page(const Call& call, std::string_view answer, int version);

}  // namespace minke::portal
