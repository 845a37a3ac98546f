// Submits a batch job: the part that sbatch and sqsub share once the request is made.
// One thread; blocking.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "submit/job_request.h"

namespace minke::api {
class SubmitReply;
}  // namespace minke::api

namespace minke::cli {

// Reads the script that a command line names, found as a shell would find it; standard input if it names
// none. Errors carry the line to print behind "error: ".
Result<submit::ScriptFile> read_script(const submit::Invocation& invocation, const submit::CommandLine& line);

// Completes the request with the command's environment, and submits it. Errors carry the line to
// print behind "error: ". `key` names the submission: a second one with the same key is the same job. Empty:
// a new key.
Result<api::SubmitReply> submit_batch(engine::Engine& cluster, const submit::Invocation& invocation,
                                      submit::JobRequest& request, int argc, char** argv,
                                      const std::string& key = {});

// --wait: returns at the job's end, with its exit code.
int wait_for_end(engine::Engine& cluster, const submit::Invocation& invocation, uint32_t job_id);

}  // namespace minke::cli
