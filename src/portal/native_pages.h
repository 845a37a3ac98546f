// Slurm's own answer where the cluster is a real Slurm: some of its commands print the documents of slurmrestd
// themselves. Blocking; a worker's thread.
#pragma once

#include <string_view>

#include "portal/routes.h"

namespace minke::portal {

// The whole page, as the cluster's command prints it in this version. Error: this is no real Slurm, it has no
// such command, or not this version.
Result<Reply> native_page(Call& call, std::string_view answer, int version);

}  // namespace minke::portal
