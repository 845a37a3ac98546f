// srun over several components of a heterogeneous job: `srun a : b`, `srun --het-group=0,1 a`.
//
// Each component is a step of its own job, with one number for all of them (within a job that has but one
// component, each is a step with a number of its own, on nodes of its own). A process each lives through one;
// the tasks see one step: their numbers go on from component to component. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "model/job.pb.h"
#include "submit/job_request.h"

namespace minke::cli {

// One component's srun. `line` has one component, with its --het-group.
struct HetStepPart {
  submit::CommandLine line;
  submit::JobRequest request;
  model::JobRecord job;
  rpc::StepSpec spec;
};

// Whether the command line names more than one component.
bool names_several_components(const submit::CommandLine& line);
// Whether any of them says which components of the job it means.
bool names_groups(const submit::CommandLine& line);
// A line of its own for each of them. `size`: components of the job.
submit::Outcome<std::vector<submit::CommandLine>> split_components(const submit::Invocation& invocation,
                                                                   const submit::CommandLine& line,
                                                                   uint32_t size);

// Fills in what each part is of the whole.
void join_parts(std::vector<HetStepPart>& parts);

// Runs `run_part(i, told)` in a process each; the first is to write its step's number to `told` (-1: none),
// which the others get in their specs. The highest exit status.
int run_parts(std::vector<HetStepPart>& parts, const std::function<int(size_t part, int told)>& run_part);

}  // namespace minke::cli
