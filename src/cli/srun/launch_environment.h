// What a command finds around it and hands on with a submission or a step: environment, limits, umask.
// One thread; reads the process's own state only.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "submit/job_request.h"

namespace minke::api {
class SubmitRequest;
}  // namespace minke::api

namespace minke::cli {

// argv[1…], the environment, the working directory and the time. Errors of getcwd(2) leave "/" as the
// directory.
submit::Invocation current_invocation(submit::Command command, int argc, char** argv);

std::string host_name();   // without the domain
std::string nice_value();  // of this process, which SLURM_PRIO_PROCESS tells jobs
uint32_t current_umask();
// Puts what the specs of the request, one for each component of a heterogeneous job, say about where and how
// they were submitted: host, command line, umask, and the soft limits that are to be propagated. Then into
// `submission`.
void complete_submission(submit::JobRequest& request, int argc, char** argv);
void put_specs(const submit::JobRequest& request, api::SubmitRequest& submission);
// Puts the soft limits that are to be propagated into the request, by --propagate's names.
void propagate_limits(submit::JobRequest& request);

// The environment that goes with the job, NAME=VALUE each ended by NUL: what --export, --export-file and
// --get-user-env say. Runs the login shell for the last one, for 8 s at most where the option says nothing
// else.
Result<std::string> job_environment(const submit::Invocation& invocation, const submit::JobRequest& request);

// The command line as it was typed, for SubmitLine.
std::string submit_line(int argc, char** argv);

// --help, --usage, --version: prints it; the exit status.
int show(submit::Command command, submit::ShowOnly what);

// What an allocation that was not granted ends with: SLURM_EXIT_IMMEDIATE counts where --immediate was the
// reason.
int give_up_allocation(const submit::Invocation& invocation, const submit::JobRequest& request,
                       const std::string& before, const Error& error);

// Writes a refusal, or notes, to stderr; returns the exit status.
int give_up(const submit::Refusal& refusal);

// What Slurm's commands say of a submission that was refused, `before` being what stands in front of the
// reason: "Batch job submission failed: ".
std::string refusal_text(const submit::JobRequest& request, const std::string& before, const Error& error);
void print_notes(const submit::JobRequest& request);

}  // namespace minke::cli
