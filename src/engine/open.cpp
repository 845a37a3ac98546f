#include "engine/open.h"

#include "engine/embedded/client.h"
#include "engine/slurm/find.h"
#include "engine/slurm/slurm_engine.h"

namespace minke::engine {

Result<std::unique_ptr<Engine>> open(Start start) {
  auto slurm = slurm::find_slurm();
  if (!slurm) return failure(std::move(slurm.error()));
  if (*slurm) {
    auto engine = std::make_unique<slurm::SlurmEngine>(std::move((*slurm)->place), (*slurm)->period);
    // From then on this process speaks the cluster's release. What needs a Slurm that answers will say so.
    (void)engine->identity();
    return engine;
  }
  return embedded::Client::connect(start == Start::kWhereNoneRuns);
}

}  // namespace minke::engine
