// sqsub, sqkill, sqsuspend, sqresume: SHARCNET's commands to submit and control jobs, built on the requests
// of sbatch, scancel and scontrol.
#include <cstdio>
#include <optional>
#include <string>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "api/submission.pb.h"
#include "cli/batch_submission.h"
#include "cli/commands.h"
#include "cli/srun/launch_environment.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "submit/sqsub.h"
#include "text/job_id.h"
#include "view/output.h"

namespace minke::cli {

namespace {

int complain(const char* command, const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", command, message.c_str());
  return 1;
}

// For each named job: calls `act` on the cluster, and prints `said` on stdout on success.
template <typename Act>
int steer(int argc, char** argv, const char* command, const char* said, Act&& act) {
  if (argc < 2 || argv[1][0] == '-') {
    std::fprintf(argc < 2 ? stderr : stdout, "usage: %s jobid [jobid ...]\n", command);
    return argc < 2 ? 1 : 0;
  }
  auto cluster = engine::open();
  if (!cluster) return complain(command, cluster.error().message);
  int status = 0;
  for (int i = 1; i < argc; ++i) {
    const auto jobs = text::parse_job_id_list(argv[i]);
    if (!jobs) {
      status = complain(command, std::string("not a job id: ") + argv[i]);
      continue;
    }
    for (const text::JobReference& job : *jobs) {
      const std::string name = text::format_job_id(job);
      const Result<api::ActionReply> answer = act(**cluster, engine::selector_of(job));
      if (!answer) {
        status = complain(command, "job " + name + ": " + answer.error().message);
      } else if (answer->failures_size() != 0) {
        status = complain(command, "job " + name + ": " + answer->failures(0).message());
      } else {
        std::printf("job %s is being %s\n", name.c_str(), said);
      }
    }
  }
  return status;
}

int suspend_or_resume(int argc, char** argv, const char* command, bool resume) {
  return steer(argc, argv, command, resume ? "resumed" : "suspended",
               [resume](engine::Engine& cluster, api::JobSelector job) {
                 api::SuspendRequest request;
                 *request.add_jobs() = std::move(job);
                 request.set_resume(resume);
                 return cluster.suspend(request);
               });
}

}  // namespace

int sqsub_main(int argc, char** argv) {
  submit::Invocation invocation = current_invocation(submit::Command::kSbatch, argc, argv);
  auto wanted = submit::translate_sqsub(invocation.arguments);
  if (!wanted) {
    complain("sqsub", wanted.error().message);
    std::fputs("Try \"sqsub -h\" for more information\n", stderr);
    return 1;
  }
  if (wanted->show_help) {
    view::write_out(submit::sqsub_usage());
    return 0;
  }
  invocation.arguments = std::move(wanted->arguments);
  const auto line = submit::read_command_line(invocation);
  if (!line) return give_up(line.error());
  auto request =
      submit::make_job_request(invocation, *line, submit::ScriptFile{"", std::move(wanted->script)});
  if (!request) return give_up(request.error());
  auto cluster = engine::open();
  if (!cluster) return complain("sqsub", cluster.error().message);
  const auto reply = submit_batch(**cluster, invocation, *request, argc, argv);
  if (!reply) return complain("sqsub", reply.error().message);
  std::printf("submitted as jobid %u\n", reply->job_id());
  return std::fflush(stdout) == 0 ? 0 : complain("sqsub", "standard output cannot be written");
}

int sqkill_main(int argc, char** argv) {
  return steer(argc, argv, "sqkill", "terminated", [](engine::Engine& cluster, api::JobSelector job) {
    api::SignalRequest request;
    *request.mutable_filter()->add_jobs() = std::move(job);
    return cluster.signal(request);
  });
}

int sqsuspend_main(int argc, char** argv) {
  return suspend_or_resume(argc, argv, "sqsuspend", false);
}

int sqresume_main(int argc, char** argv) {
  return suspend_or_resume(argc, argv, "sqresume", true);
}

}  // namespace minke::cli
