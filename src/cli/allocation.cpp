#include "cli/allocation.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "api/actions.pb.h"
#include "api/jobs.pb.h"
#include "api/submission.pb.h"
#include "cli/srun/launch_environment.h"
#include "environment/job_environment.h"
#include "model/error.h"
#include "model/job_state.pb.h"
#include "os/minke_home.h"
#include "os/random_key.h"
#include "software/software_environment.h"
#include "text/timestamp.h"

namespace minke::cli {
namespace {

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// The message for a signal that ends the wait. A signal handler writes it, so it is only bytes.
char last_words[256];
size_t last_words_size = 0;

extern "C" void end_waiting(int) {
  (void)!::write(STDERR_FILENO, last_words, last_words_size);
  ::_exit(1);  // the daemon takes back what belonged to this process
}

// The message at the end of --immediate=SECONDS.
char too_late[128];
size_t too_late_size = 0;

extern "C" void give_up_waiting(int) {
  (void)!::write(STDERR_FILENO, too_late, too_late_size);
  ::_exit(1);
}

// While it lives, the signals that end a command give up the pending allocation, as
// in Slurm's commands.
class EndableWait {
 public:
  EndableWait(submit::Command command, uint32_t job_id, bool quiet, uint32_t seconds) {
    const std::string id = std::to_string(job_id);
    const std::string words =
        command == submit::Command::kSalloc
            ? "salloc: Job allocation " + id + " has been revoked.\nsalloc: Job aborted due to signal\n"
            : "srun: Job allocation " + id + " has been revoked\nsrun: Force Terminated JobId=" + id + "\n";
    too_late_size = (std::string(submit::command_name(command)) +
                     ": error: Unable to allocate resources: Connection timed out\n")
                        .copy(too_late, sizeof too_late);
    if (seconds != 0) {
      std::signal(SIGALRM, give_up_waiting);
      ::alarm(seconds);
    }
    last_words_size = quiet ? 0 : words.copy(last_words, sizeof last_words);
    for (size_t i = 0; i < std::size(kEnding); ++i) {
      before_[i] = std::signal(kEnding[i], end_waiting);
      if (before_[i] == SIG_IGN) std::signal(kEnding[i], SIG_IGN);
    }
  }
  ~EndableWait() {
    ::alarm(0);
    for (size_t i = 0; i < std::size(kEnding); ++i) std::signal(kEnding[i], before_[i]);
  }
  EndableWait(const EndableWait&) = delete;
  EndableWait& operator=(const EndableWait&) = delete;

 private:
  sighandler_t before_[std::size(kEnding)];
};

}  // namespace

namespace {

api::SubmitRequest make_submission(submit::JobRequest& request, const std::string& environment) {
  api::SubmitRequest submission;
  submission.set_key(os::random_key());
  put_specs(request, submission);
  submission.set_environment(environment);
  submission.set_test_only(request.test_only);
  submission.set_immediate(request.immediate_seconds.has_value() && *request.immediate_seconds <= 1);
  return submission;
}

}  // namespace

Result<api::SubmitReply> test_allocation(engine::Engine& cluster, submit::JobRequest& request,
                                         const std::string& environment) {
  return cluster.submit(make_submission(request, environment));
}

int report_test(const submit::Invocation& invocation, const Result<api::SubmitReply>& tested) {
  if (!tested) {
    std::fprintf(stderr, "allocation failure: %s\n", tested.error().message.c_str());
    return 1;
  }
  const bool one_job = !tested->partition().empty();
  std::fprintf(stderr, "%s: Job %u to start at %s using %u processors on %s%s%s%s\n",
               std::string(submit::command_name(invocation.command)).c_str(), tested->job_id(),
               text::format_time(tested->start_time()).c_str(), tested->num_cpus(), one_job ? "nodes " : "",
               tested->node_list().c_str(), one_job ? " in partition " : "", tested->partition().c_str());
  return 0;
}

Result<Allocation> allocate(engine::Engine& cluster, const submit::Invocation& invocation,
                            submit::JobRequest& request, const std::string& environment) {
  const std::string name(submit::command_name(invocation.command));
  const auto say = [&](const std::string& text) {
    if (!request.quiet) std::fprintf(stderr, "%s: %s\n", name.c_str(), text.c_str());
  };
  const auto answer = cluster.submit(make_submission(request, environment));
  if (!answer) return failure(answer.error());
  const uint32_t id = answer->job_id();
  for (const std::string& note : answer->notes()) say(note);
  if (request.verbose > 1) say("debug:  Entering _msg_thr_internal");  // Slurm's message before it waits
  const uint32_t seconds = request.immediate_seconds.value_or(0);
  const EndableWait endable(invocation.command, id, request.quiet, seconds > 1 ? seconds : 0);

  api::WaitJobRequest wait;
  wait.set_job_id(id);
  wait.set_until(api::WaitJobRequest::STARTED);
  Allocation allocation;
  bool told = false;
  const auto tell_waiting = [&] {
    if (std::exchange(told, true)) return;
    if (request.spec.hold()) say("Job is in held state, pending scheduler release");
    if (invocation.command == submit::Command::kSalloc) say("Pending job allocation " + std::to_string(id));
    say("job " + std::to_string(id) + " queued and waiting for resources");
  };
  // In Slurm heterogeneous jobs never start at submission, and drivers expect this message.
  if (!request.het_components.empty()) tell_waiting();
  const Status waited = cluster.wait(wait, [&](api::WaitJobReply& reply) -> Status {
    allocation.job = reply.job();
    allocation.interactive_step = reply.interactive_step();
    allocation.environment.assign(reply.environment().begin(), reply.environment().end());
    if (allocation.job.state() == model::JOB_PENDING) tell_waiting();
    return {};
  });
  if (!waited) return failure(waited.error());
  if (allocation.job.state() != model::JOB_RUNNING) {
    tell_waiting();
    say("Job has been cancelled");
    if (invocation.command == submit::Command::kSalloc)
      say("Job allocation " + std::to_string(id) + " has been revoked.");
    return failure(std::string(model::slurm_error_text(model::kAlreadyDone)), model::kAlreadyDone);
  }
  environment::leave_submit_dir(environment, allocation.environment);
  for (std::string& variable :
       environment::virtual_node_environment(allocation.job.nodes_size(), environment))
    allocation.environment.push_back(std::move(variable));
  const auto home = os::minke_home();
  if (!home) return failure(home.error());
  software::SoftwareEnvironment software;
  software.load(*home);
  software.add_to(allocation.environment, environment);
  if (told) say("job " + std::to_string(id) + " has been allocated resources");
  return allocation;
}

Status give_back(engine::Engine& cluster, uint32_t job_id, int32_t status) {
  api::CompleteAllocationRequest request;
  request.set_job_id(job_id);
  request.set_status(status);
  const auto answer = cluster.complete_allocation(request);
  if (!answer) return failure(answer.error());
  for (const auto& failed : answer->failures()) {
    if (failed.code() != model::kAlreadyDone)
      return failure(failed.message(), static_cast<int>(failed.code()));
  }
  return {};
}

std::string add_to_environment(std::string_view block, const std::vector<std::string>& additions) {
  return environment::merge_environment(block, additions, "");
}

}  // namespace minke::cli
