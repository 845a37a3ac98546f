// Runs a step from its specification to its end: its MPI server, the wrapper in front of its tasks' program,
// its streams, the programs beside it, and its StepRun. One thread; blocking.
#pragma once

#include <sys/wait.h>

#include <cstdint>
#include <string>

#include "api/steps.pb.h"
#include "engine/engine.h"
#include "model/job_record.pb.h"
#include "submit/job_request.h"

namespace minke::cli {

// The exit status, and the one in the step's job if that has no other.
struct StepEnd {
  int status = 1;
  int32_t wait_status = W_EXITCODE(1, 0);
};

StepEnd as_step_end(int status);

// `told`: see StepRun::tell_step_id(). `mpi_address` is that of the server for a world of several components.
// Errors have been printed.
StepEnd run_step(engine::Engine& cluster, const submit::Invocation& invocation, submit::JobRequest& request,
                 const model::JobRecord& job, api::StepSpec spec, int told,
                 const std::string& mpi_address = "");

}  // namespace minke::cli
