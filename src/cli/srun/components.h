// srun over several components of a heterogeneous job: `srun a : b`, `srun --het-group=0,1 a`.
//
// Each component is a step of its own job, with one number for all of them (within a job of one component,
// each is a step with a number of its own, on nodes of its own). Each component has its own process. The
// tasks see one step: their numbers go on from component to component, and to an MPI library they are one
// world, which the process that waits for all components serves. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/steps.pb.h"
#include "model/job_record.pb.h"
#include "mpi/server.h"
#include "submit/job_request.h"

namespace minke::cli {

// One component's srun. `line` has one component, with its --het-group.
struct HetStepPart {
  submit::CommandLine line;
  submit::JobRequest request;
  model::JobRecord job;
  api::StepSpec spec;
  std::string mpi_address;  // of the server of its tasks' world; empty: there is none
};

// Whether the command line names more than one component.
bool names_several_components(const submit::CommandLine& line);
// Whether any of them selects components of the job.
bool names_groups(const submit::CommandLine& line);
// Makes a line for each of them. `size` is the number of the job's components.
submit::Outcome<std::vector<submit::CommandLine>> split_components(const submit::Invocation& invocation,
                                                                   const submit::CommandLine& line,
                                                                   uint32_t size);

// Fills in each part's place in the whole. Returns the node of each task of the whole, as far as it is known
// before the parts are laid out.
std::vector<std::string> join_parts(std::vector<HetStepPart>& parts);

struct MpiWorld {
  mpi::Kind kind = mpi::Kind::kPmix;
  std::vector<std::string> node_of_rank;
};

// Runs `run_part(i, told)` in a process each; the first one writes its step's number to `told` (-1: none),
// which the others get in their specs. In one MPI world, a part that fails, or a rank that aborts, ends all.
// Returns the highest exit status, or the one that the rank aborted with.
int run_parts(std::vector<HetStepPart>& parts, const std::optional<MpiWorld>& world,
              const std::function<int(size_t part, int told)>& run_part);

}  // namespace minke::cli
