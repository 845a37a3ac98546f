// sbatch: reads a job script, and hands it in. Answers only once the job is durable.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/version.h"
#include "cli/allocation.h"
#include "cli/batch_submission.h"
#include "cli/client.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/fetch.h"
#include "cli/srun/launch_environment.h"
#include "os/files.h"
#include "submit/job_request.h"
#include "submit/script.h"

namespace minke::cli {

namespace {

constexpr size_t kMaxScriptBytes = size_t{4} << 20;

int complain(const submit::Invocation& invocation, const std::string& message, int status = 1) {
  return give_up(submit::refuse(invocation, message, status));
}

// As a shell would find it: in the working directory, or, for a bare name that is not there, on PATH.
std::string find_script(const submit::Invocation& invocation, const std::string& name) {
  if (!name.empty() && name.front() == '/') return name;
  const std::string here = invocation.working_directory + "/" + name;
  if (::access(here.c_str(), F_OK) == 0 || name.find('/') != std::string::npos) return here;
  std::string_view rest = invocation.variable("PATH").value_or("");
  while (!rest.empty()) {
    const std::string directory(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
    const std::string candidate = directory + "/" + name;
    if (!directory.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return here;
}

Result<std::string> read_standard_input() {
  std::string content;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno("standard input", errno);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
    if (content.size() > kMaxScriptBytes) return content;  // refused later, by its size
  }
}

Result<submit::ScriptFile> read_script(const submit::Invocation& invocation,
                                       const submit::CommandLine& line) {
  if (line.positional.empty()) {
    auto content = read_standard_input();
    if (!content) return failure(content.error());
    return submit::ScriptFile{"", std::move(*content)};
  }
  const std::string path = find_script(invocation, line.positional.front());
  auto content = os::read_file(path, kMaxScriptBytes);
  if (!content && content.error().code == EFBIG) {
    return failure(
        "Batch job submission failed: Job script " + line.positional.front() + " is larger than 4 MiB",
        EFBIG);
  }
  if (!content) {
    std::string message = "Unable to open file " + line.positional.front();
    if (const auto dash = submit::leading_unicode_dash(line.positional.front()); !dash.empty()) {
      message.append("\n\"").append(dash).append("\" is not the \"-\" of the keyboard; type the option anew");
    }
    return failure(std::move(message), content.error().code);
  }
  return submit::ScriptFile{path, std::move(*content)};
}

int wait_for_end(Client& client, const submit::Invocation& invocation, uint32_t job_id) {
  rpc::ClientMessage request;
  request.mutable_wait_job()->set_job_id(job_id);
  request.mutable_wait_job()->set_until(rpc::WaitJobRequest::ENDED);
  const auto answer = client.call(request);
  if (!answer) return complain(invocation, answer.error().message);
  const model::JobRecord& job = answer->wait_job().job();
  const int32_t status = accounted_exit_code(job);
  if (WIFSIGNALED(status)) return 1;
  if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  return job.state() == model::JOB_COMPLETE ? 0 : 1;
}

}  // namespace

int sbatch_main(int argc, char** argv) {
  const submit::Invocation invocation = current_invocation(submit::Command::kSbatch, argc, argv);
  const auto line = submit::read_command_line(invocation);
  if (!line) return give_up(line.error());
  if (line->show != submit::ShowOnly::kNothing) return show(submit::Command::kSbatch, line->show);
  std::optional<submit::ScriptFile> script;
  if (!line->wrap) {
    auto read = read_script(invocation, *line);
    if (!read) return complain(invocation, read.error().message);
    script = std::move(*read);
  }
  auto request = submit::make_job_request(invocation, *line, script);
  if (!request) return give_up(request.error());
  print_notes(*request);

  auto client = Client::connect();
  if (!client) return complain(invocation, "Batch job submission failed: " + client.error().message);
  if (const auto status = answer_before_submission(*client, "sbatch", *request)) return *status;
  const auto submitted = submit_batch(*client, invocation, *request, argc, argv);
  if (request->test_only) return report_test(invocation, submitted);
  if (!submitted) return complain(invocation, submitted.error().message);
  const rpc::SubmitReply& reply = *submitted;
  for (const std::string& note : reply.notes()) std::fprintf(stderr, "sbatch: %s\n", note.c_str());
  // With --clusters, Slurm says to which one the job went.
  const std::string cluster = request->clusters.empty() ? std::string() : fetch_cluster_name(*client);
  if (request->parsable) {
    std::printf("%u%s%s\n", reply.job_id(), cluster.empty() ? "" : ";", cluster.c_str());
  } else if (!request->quiet) {
    std::printf("Submitted batch job %u%s%s\n", reply.job_id(), cluster.empty() ? "" : " on cluster ",
                cluster.c_str());
  }
  if (std::fflush(stdout) != 0) return complain(invocation, "standard output cannot be written");
  return request->wait ? wait_for_end(*client, invocation, reply.job_id()) : 0;
}

}  // namespace minke::cli
