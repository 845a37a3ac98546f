// sbatch: reads a job script, and submits it. Answers only once the job is durable.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
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
#include "submit/dead_directives.h"
#include "submit/job_request.h"
#include "submit/option_table.h"
#include "submit/script.h"
#include "text/printable.h"
#include "text/timestamp.h"

namespace minke::cli {

namespace {

using Script = std::optional<submit::ScriptFile>;

int complain(const submit::Invocation& invocation, const std::string& message,
             const Script& script = std::nullopt) {
  return give_up(invocation, submit::refuse(invocation, message, 1), script);
}

void warn_of_dead_directives(const Script& script, const submit::JobRequest& request) {
  if (!script || request.quiet) return;
  const std::string name = script->path.empty() ? "stdin" : script->path.substr(script->path.rfind('/') + 1);
  for (const std::string& warning : submit::dead_directives(script->content, name))
    std::fprintf(stderr, "sbatch: %s\n", warning.c_str());
}

// Options behind the script are the script's arguments, which people who watch are told: programs may mean it
// so.
void tell_of_late_options(const submit::CommandLine& line, const submit::JobRequest& request) {
  if (request.quiet || ::isatty(STDERR_FILENO) == 0) return;
  for (size_t i = 1; i < line.positional.size(); ++i) {
    const std::string& word = line.positional[i];
    if (word == "--") return;
    const std::string name = word.starts_with("--") ? word.substr(2, word.find('=') - 2) : "";
    const auto is_it = [&](const submit::Option& one) {
      return one.name == name && one.belongs_to(submit::Command::kSbatch);
    };
    if (name.empty() || std::none_of(submit::all_options().begin(), submit::all_options().end(), is_it))
      continue;
    std::fprintf(stderr,
                 "sbatch: note: %s stands behind the script, and is the script's; sbatch's own options stand "
                 "before it\n",
                 text::printable(word).c_str());
    return;
  }
}

}  // namespace

int sbatch_main(int argc, char** argv) {
  const submit::Invocation invocation = current_invocation(submit::Command::kSbatch, argc, argv);
  const auto line = submit::read_command_line(invocation);
  if (!line) return give_up(invocation, line.error());
  if (line->show != submit::ShowOnly::kNothing) return show(submit::Command::kSbatch, *line);
  Script script;
  if (!line->wrap && !line->external) {
    auto read = read_script(invocation, *line);
    if (!read) return complain(invocation, read.error().message);
    script = std::move(*read);
  }
  auto request = submit::make_job_request(invocation, *line, script);
  if (!request) return give_up(invocation, request.error(), script);
  if (!request->het_components.empty()) {
    const bool was_read = script && script->path.empty();
    if (const auto ended = become_slurm_program_for_this("sbatch", argv, was_read ? script->content : ""))
      return *ended;
  }
  print_notes(*request);
  warn_of_dead_directives(script, *request);
  tell_of_late_options(*line, *request);

  const auto cluster = engine::open();
  if (!cluster) return complain(invocation, "Batch job submission failed: " + cluster.error().message);
  if (const auto status = answer_before_submission(**cluster, "sbatch", *request)) return *status;
  const auto submitted = submit_batch(**cluster, invocation, *request, argc, argv);
  if (request->test_only) return report_test(invocation, submitted);
  if (!submitted) return complain(invocation, submitted.error().message, script);
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
