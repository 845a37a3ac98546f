#include "cli/batch_submission.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "api/jobs.pb.h"
#include "api/submission.pb.h"
#include "cli/allocation.h"
#include "cli/output_check.h"
#include "cli/srun/launch_environment.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/random_key.h"
#include "submit/data_directives.h"
#include "submit/script.h"
#include "text/nearest.h"
#include "text/printable.h"
#include "view/text.h"

namespace minke::cli {

namespace {

using submit::kMaxScriptBytes;

// Finds it as a shell would: in the working directory, or, for a bare name that is not there, on PATH.
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
  if (::isatty(STDIN_FILENO) == 1)
    std::fputs("sbatch: no script is named: type it here, and end it with Ctrl-D; Ctrl-C leaves\n", stderr);
  std::string content;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno("standard input", errno);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
    if (content.size() > kMaxScriptBytes) return content;  // its size is refused later
  }
}

// Whether a file begins as a program does.
bool is_program(const std::string& path) {
  char magic[4] = "";
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return file && ::read(file.get(), magic, sizeof magic) == sizeof magic &&
         std::string_view(magic, sizeof magic) ==
             "\x7f"
             "ELF";
}

// Of words, the first behind the first one that is a file; empty: there is none.
std::string later_file(const std::vector<std::string>& words) {
  struct stat status {};
  for (size_t i = 1; i < words.size(); ++i)
    if (::stat(words[i].c_str(), &status) == 0 && S_ISREG(status.st_mode)) return words[i];
  return "";
}

// Why a script cannot be read, and which file was meant.
std::string why_not_there(const std::string& path, const std::vector<std::string>& words,
                          const Error& error) {
  const std::string& name = words.front();
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0)
    return S_ISDIR(status.st_mode) ? "it is a directory"
                                   : std::string(std::strerror(error.code != 0 ? error.code : EACCES));
  if (const std::string later = later_file(words); !later.empty())
    return "there is no such file, and the first word is the script: sbatch " + text::printable(later);
  if (name.find('*') != std::string::npos)
    return "there is no such file; sbatch takes one script at a time: for s in *.sh; do sbatch $s; done";
  const size_t slash = path.rfind('/');
  const std::string directory = path.substr(0, slash);
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory.empty() ? "/" : directory, failed)) {
    if (names.size() == 1000) break;
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view meant = text::nearest(name.substr(name.rfind('/') + 1), candidates);
  return "there is no such file" + (meant.empty() ? "" : "; did you mean " + text::printable(meant) + "?");
}

}  // namespace

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
    std::string words;
    for (const std::string& word : line.positional) words += (words.empty() ? "" : " ") + word;
    return failure(
        "Batch job submission failed: Job script " + line.positional.front() + " is larger than 4 MiB" +
            (is_program(path) ? " (it is a program: sbatch --wrap '" + text::printable(words) + "')" : ""),
        EFBIG);
  }
  if (!content) {
    const std::string& name = line.positional.front();
    std::string message = "Unable to open file " + name;
    if (submit::leading_unicode_dash(name).empty())
      message += " (" + why_not_there(path, line.positional, content.error()) + ")";
    if (const auto dash = submit::leading_unicode_dash(line.positional.front()); !dash.empty()) {
      message.append("\n\"").append(dash).append("\" is not the \"-\" of the keyboard; type the option anew");
    }
    return failure(std::move(message), content.error().code);
  }
  return submit::ScriptFile{path, std::move(*content)};
}

Result<api::SubmitReply> submit_batch(engine::Engine& cluster, const submit::Invocation& invocation,
                                      submit::JobRequest& request, int argc, char** argv,
                                      const std::string& key) {
  const std::string failed = "Batch job submission failed: ";
  complete_submission(request, argc, argv);
  if (const auto data = submit::read_data_directives(request.script); !data) return failure(data.error());
  std::vector<std::string> warnings;
  check_output_paths(request.spec, warnings);
  check_interpreter(request.spec, request.script, warnings);
  auto environment = job_environment(invocation, request);
  if (!environment) return failure(environment.error());
  api::SubmitRequest submission;
  submission.set_key(key.empty() ? os::random_key() : key);
  put_specs(request, submission);
  submission.set_script(request.script);
  submission.set_environment(std::move(*environment));
  submission.set_test_only(request.test_only);
  auto answer = cluster.submit(std::move(submission));
  if (!answer) {
    return failure(refusal_text(request, request.test_only ? "" : failed, answer.error()),
                   answer.error().code);
  }
  if (!request.test_only && !request.quiet)
    for (const std::string& warning : warnings) answer->add_notes("warning: " + warning);
  return answer;
}

int wait_for_end(engine::Engine& cluster, const submit::Invocation& invocation, uint32_t job_id) {
  api::WaitJobRequest request;
  request.set_job_id(job_id);
  request.set_until(api::WaitJobRequest::ENDED);
  model::JobRecord job;
  const Status waited = cluster.wait(request, [&](api::WaitJobReply& reply) -> Status {
    job = std::move(*reply.mutable_job());
    return {};
  });
  if (!waited) return give_up(submit::refuse(invocation, waited.error().message, 1));
  const int32_t status = view::accounted_exit_code(job);
  if (WIFSIGNALED(status)) return 1;
  if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  return job.state() == model::JOB_COMPLETE ? 0 : 1;
}

}  // namespace minke::cli
