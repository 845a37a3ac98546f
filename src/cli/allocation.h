// An allocation for salloc and srun: requests it, waits for it, and gives it back. It belongs to this
// process: the daemon takes it back when the process is gone. One thread; blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/submission.pb.h"
#include "base/result.h"
#include "engine/engine.h"
#include "model/job_record.pb.h"
#include "submit/job_request.h"

namespace minke::cli {

struct Allocation {
  model::JobRecord job;
  std::vector<std::string> environment;  // NAME=VALUE
  bool interactive_step = false;         // a shell without a command is a step on its first node
};

// Says on stderr what it waits for, in Slurm's words, unless --quiet.
Result<Allocation> allocate(engine::Engine& cluster, const submit::Invocation& invocation,
                            submit::JobRequest& request, const std::string& environment);

// --test-only: prints when and where the job would start, or why not. Returns the exit status.
int report_test(const submit::Invocation& invocation, const Result<api::SubmitReply>& tested);
Result<api::SubmitReply> test_allocation(engine::Engine& cluster, submit::JobRequest& request,
                                         const std::string& environment);

// `status` is the wait(2) status of the command.
Status give_back(engine::Engine& cluster, uint32_t job_id, int32_t status);

// Returns the environment that salloc and srun pass on: `block` holds NAME=VALUE, each ended by NUL.
std::string add_to_environment(std::string_view block, const std::vector<std::string>& additions);

}  // namespace minke::cli
