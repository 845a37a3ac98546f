// slurm_job_N_resize.sh and .csh: what a job that gave nodes back sources, so that its environment tells of
// those that it has still.
#pragma once

#include <string>

#include "engine/engine.h"

namespace minke::api {
class UpdateJobRequest;
}  // namespace minke::api

namespace minke::cli {

bool changes_nodes(const api::UpdateJobRequest& update);

// Writes them into the working directory, within a job only, and says so. `job`: that was changed; where it
// does not run there is nothing to write.
void write_resize_scripts(engine::Engine& cluster, const std::string& job);

}  // namespace minke::cli
