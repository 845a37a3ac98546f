// slurm_job_N_resize.sh and .csh: what a job that gave nodes back sources, so that its environment tells of
// those that it has still.
#pragma once

#include <string>

#include "cli/client.h"
#include "rpc/messages.pb.h"

namespace minke::cli {

bool changes_nodes(const rpc::UpdateJobRequest& update);

// Writes them into the working directory, within a job only, and says so. `job`: that was changed; where it
// does not run there is nothing to write.
void write_resize_scripts(Client& client, const std::string& job);

}  // namespace minke::cli
