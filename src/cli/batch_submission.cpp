#include "cli/batch_submission.h"

#include "cli/output_check.h"
#include "cli/srun/launch_environment.h"
#include "model/error.h"

namespace minke::cli {

Result<rpc::SubmitReply> submit_batch(Client& client, const submit::Invocation& invocation,
                                      submit::JobRequest& request, int argc, char** argv) {
  const std::string failed = "Batch job submission failed: ";
  complete_submission(request, argc, argv);
  if (const Status writable = check_output_paths(request.spec); !writable) {
    return failure(failed + writable.error().message);
  }
  auto environment = job_environment(invocation, request);
  if (!environment) return failure(environment.error());
  rpc::ClientMessage message;
  rpc::SubmitRequest& submission = *message.mutable_submit();
  submission.set_key(random_key());
  put_specs(request, submission);
  submission.set_script(request.script);
  submission.set_environment(std::move(*environment));
  submission.set_test_only(request.test_only);
  auto answer = client.call(message);
  if (!answer) {
    if (answer.error().code == model::kInvalidGres)
      return failure(answer.error());  // Slurm's command finds it itself
    return failure((request.test_only ? "" : failed) + answer.error().message, answer.error().code);
  }
  return std::move(*answer->mutable_submit());
}

}  // namespace minke::cli
