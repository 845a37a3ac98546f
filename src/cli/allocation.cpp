#include "cli/allocation.h"

#include <cstdio>
#include <optional>

#include "cli/srun/launch_environment.h"
#include "engine/embedded/job_environment.h"
#include "model/error.h"
#include "text/state.h"

namespace minke::cli {

Result<Allocation> allocate(Client& client, const submit::Invocation& invocation, submit::JobRequest& request,
                            const std::string& environment) {
  const std::string name(submit::command_name(invocation.command));
  const auto say = [&](const std::string& text) {
    if (!request.quiet) std::fprintf(stderr, "%s: %s\n", name.c_str(), text.c_str());
  };
  rpc::ClientMessage message;
  rpc::SubmitRequest& submission = *message.mutable_submit();
  submission.set_key(random_key());
  put_specs(request, submission);
  submission.set_environment(environment);
  submission.set_test_only(request.test_only);
  submission.set_immediate(request.immediate_seconds.has_value());
  const auto answer = client.call(message);
  if (!answer) return failure(answer.error());
  const uint32_t id = answer->submit().job_id();

  rpc::ClientMessage wait;
  wait.mutable_wait_job()->set_job_id(id);
  wait.mutable_wait_job()->set_until(rpc::WaitJobRequest::STARTED);
  Allocation allocation;
  bool told = false;
  const Status waited = client.stream(wait, [&](rpc::ServerMessage& reply) -> Status {
    allocation.job = reply.wait_job().job();
    allocation.environment.assign(reply.wait_job().environment().begin(),
                                  reply.wait_job().environment().end());
    if (allocation.job.state() == model::JOB_PENDING && !told) {
      told = true;
      if (invocation.command == submit::Command::kSalloc) say("Pending job allocation " + std::to_string(id));
      say("job " + std::to_string(id) + " queued and waiting for resources");
    }
    return {};
  });
  if (!waited) return failure(waited.error());
  if (allocation.job.state() != model::JOB_RUNNING) {
    return failure("Job allocation " + std::to_string(id) + " has been revoked (" +
                   std::string(text::job_state_name(allocation.job.state())) + ")");
  }
  for (std::string& variable : engine::virtual_node_environment(allocation.job.nodes_size(), environment))
    allocation.environment.push_back(std::move(variable));
  if (told) say("job " + std::to_string(id) + " has been allocated resources");
  return allocation;
}

Status give_back(Client& client, uint32_t job_id, int32_t status) {
  rpc::ClientMessage message;
  message.mutable_complete_allocation()->set_job_id(job_id);
  message.mutable_complete_allocation()->set_status(status);
  const auto answer = client.call(message);
  if (!answer) return failure(answer.error());
  for (const auto& failed : answer->action().failures()) {
    if (failed.code() != model::kAlreadyDone)
      return failure(failed.message(), static_cast<int>(failed.code()));
  }
  return {};
}

std::string add_to_environment(std::string_view block, const std::vector<std::string>& additions) {
  return engine::merge_environment(block, additions, "");
}

}  // namespace minke::cli
