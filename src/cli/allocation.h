// An allocation for salloc and srun: asked for, waited for, given back. It belongs to this process: the
// daemon takes it back when the process is gone. One thread; blocking.
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
};

// Says on stderr what it waits for, in Slurm's words, unless --quiet.
Result<Allocation> allocate(engine::Engine& cluster, const submit::Invocation& invocation,
                            submit::JobRequest& request, const std::string& environment);

// --test-only: when and where the job would start, or why not. Nothing is submitted. Returns the exit status.
int report_test(const submit::Invocation& invocation, const Result<api::SubmitReply>& tested);
Result<api::SubmitReply> test_allocation(engine::Engine& cluster, submit::JobRequest& request,
                                         const std::string& environment);

// `status`: wait(2) status of what ran in it.
Status give_back(engine::Engine& cluster, uint32_t job_id, int32_t status);

// The environment that salloc and srun hand on: `block` holds NAME=VALUE, each ended by NUL.
std::string add_to_environment(std::string_view block, const std::vector<std::string>& additions);

}  // namespace minke::cli
