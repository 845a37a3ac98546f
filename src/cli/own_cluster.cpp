#include "cli/own_cluster.h"

#include <cstdio>

#include "cli/complain.h"
#include "engine/slurm/find.h"

namespace minke::cli {

bool means_own_cluster() {
  const auto found = engine::slurm::find_slurm();
  if (!found) return complain(found.error()), false;
  if (!found->has_value()) return true;
  std::fprintf(stderr,
               "minke: error: this is about Minke's own daemon, and the cluster here is a Slurm's (%s). For "
               "one of your "
               "own beside it: export MINKE_CLUSTER=embedded\n",
               (*found)->place.found_by.c_str());
  return false;
}

}  // namespace minke::cli
