// sbatch: reads a job script, and submits it. Answers only once the job is durable.
#include <cstdio>
#include <string>

#include "api/submission.pb.h"
#include "base/version.h"
#include "cli/allocation.h"
#include "cli/batch_submission.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/slurm_programs.h"
#include "cli/srun/launch_environment.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "submit/job_request.h"
#include "submit/script.h"
#include "text/timestamp.h"

namespace minke::cli {

namespace {

int complain(const submit::Invocation& invocation, const std::string& message, int status = 1) {
  return give_up(submit::refuse(invocation, message, status));
}

}  // namespace

int sbatch_main(int argc, char** argv) {
  const submit::Invocation invocation = current_invocation(submit::Command::kSbatch, argc, argv);
  const auto line = submit::read_command_line(invocation);
  if (!line) return give_up(line.error());
  if (line->show != submit::ShowOnly::kNothing) return show(submit::Command::kSbatch, *line);
  std::optional<submit::ScriptFile> script;
  if (!line->wrap && !line->external) {
    auto read = read_script(invocation, *line);
    if (!read) return complain(invocation, read.error().message);
    script = std::move(*read);
  }
  auto request = submit::make_job_request(invocation, *line, script);
  if (!request) return give_up(request.error());
  if (!request->het_components.empty()) {
    const bool was_read = script && script->path.empty();
    if (const auto ended = become_slurm_program_for_this("sbatch", argv, was_read ? script->content : ""))
      return *ended;
  }
  print_notes(*request);

  const auto cluster = engine::open();
  if (!cluster) return complain(invocation, "Batch job submission failed: " + cluster.error().message);
  if (const auto status = answer_before_submission(**cluster, "sbatch", *request)) return *status;
  const auto submitted = submit_batch(**cluster, invocation, *request, argc, argv);
  if (request->test_only) return report_test(invocation, submitted);
  if (!submitted) return complain(invocation, submitted.error().message);
  const api::SubmitReply& reply = *submitted;
  for (const std::string& note : reply.notes()) std::fprintf(stderr, "sbatch: %s\n", note.c_str());
  // With --clusters, Slurm prints which cluster got the job.
  const std::string name = request->clusters.empty() ? std::string() : engine::fetch_cluster_name(**cluster);
  if (request->quiet) {
    // Slurm prints no number, not even with --parsable.
  } else if (request->parsable) {
    std::printf("%u%s%s\n", reply.job_id(), name.empty() ? "" : ";", name.c_str());
  } else {
    std::printf("Submitted batch job %u%s%s\n", reply.job_id(), name.empty() ? "" : " on cluster ",
                name.c_str());
  }
  if (std::fflush(stdout) != 0) return complain(invocation, "standard output cannot be written");
  return request->wait ? wait_for_end(**cluster, invocation, reply.job_id()) : 0;
}

}  // namespace minke::cli
