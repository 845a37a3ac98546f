// slurm_job_N_resize.sh and .csh: a job that gave back nodes sources them, so that its environment shows
// what it still has.
#pragma once

#include <string>

#include "engine/engine.h"

namespace minke::api {
class UpdateJobRequest;
}  // namespace minke::api

namespace minke::cli {

bool changes_nodes(const api::UpdateJobRequest& update);

// Writes them into the working directory, within a job only, and prints their names. `job` is the changed
// one; if it does not run there is nothing to write.
void write_resize_scripts(engine::Engine& cluster, const std::string& job);

}  // namespace minke::cli
