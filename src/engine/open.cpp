#include "engine/open.h"

#include "engine/embedded/client.h"
#include "engine/slurm/find.h"
#include "engine/slurm/slurm_engine.h"

namespace minke::engine {

Result<std::unique_ptr<Engine>> open(Start start) {
  auto slurm = slurm::find_slurm();
  if (!slurm) return failure(std::move(slurm.error()));
  if (*slurm) return std::make_unique<slurm::SlurmEngine>(std::move((*slurm)->place), (*slurm)->period);
  return embedded::Client::connect(start == Start::kWhereNoneRuns);
}

}  // namespace minke::engine
