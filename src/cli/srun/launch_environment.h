// What a command finds around it and passes on with a submission or a step: environment, limits, umask. One
// thread; reads the process's own state only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "submit/job_request.h"

namespace minke::api {
class SubmitRequest;
}  // namespace minke::api

namespace minke::cli {

// Collects argv[1…], the environment, the working directory and the time. If getcwd(2) fails,
// the directory is "/".
submit::Invocation current_invocation(submit::Command command, int argc, char** argv);

std::string host_name();   // without the domain
std::string nice_value();  // of this process, which SLURM_PRIO_PROCESS tells jobs
uint32_t current_umask();
// Adds to the specs of the request, one for each component of a heterogeneous job, where and how they
// were submitted: host, command line, umask, and the soft limits to propagate. Then puts the specs
// into `submission`.
void complete_submission(submit::JobRequest& request, int argc, char** argv);
void put_specs(const submit::JobRequest& request, api::SubmitRequest& submission);
// Puts the soft limits to propagate into the request, by --propagate's names.
void propagate_limits(submit::JobRequest& request);

// Returns the environment that goes with the job, NAME=VALUE each ended by NUL, according to --export,
// --export-file and --get-user-env. The last one runs the login shell, for at most 8 s unless the option
// gives another time.
Result<std::string> job_environment(const submit::Invocation& invocation, const submit::JobRequest& request);

// Returns the command line as it was typed, for SubmitLine.
std::string submit_line(int argc, char** argv);

// Prints --help, --usage, --version or --autocomplete; returns the exit status.
int show(submit::Command command, const submit::CommandLine& line);

// Returns the exit status of an allocation that was not granted: SLURM_EXIT_IMMEDIATE counts if
// --immediate was the reason.
int give_up_allocation(const submit::Invocation& invocation, const submit::JobRequest& request,
                       const std::string& before, const Error& error);

// Writes a refusal, or notes, to stderr; returns the exit status.
int give_up(const submit::Refusal& refusal);
// The same, with what to do about it (submit/advice.h).
int give_up(const submit::Invocation& invocation, const submit::Refusal& refusal,
            const std::optional<submit::ScriptFile>& script = std::nullopt);

// Returns the message of Slurm's commands for a refused submission; `before` stands in front of the reason:
// "Batch job submission failed: ".
std::string refusal_text(const submit::JobRequest& request, const std::string& before, const Error& error);
void print_notes(const submit::JobRequest& request);

}  // namespace minke::cli
