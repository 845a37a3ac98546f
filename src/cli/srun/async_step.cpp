#include "cli/srun/async_step.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "model/job_spec.pb.h"
#include "os/fd.h"
#include "os/pipe.h"
#include "text/number.h"

namespace minke::cli {

namespace {

// There is nobody to pass input on, or output: both are files.
void use_files(model::JobSpec& spec) {
  const std::string& input = spec.stdin_path();
  const bool forwarded = input.empty() || input == "all" || text::is_digits(input);
  if (forwarded) spec.set_stdin_path("none");
  if (spec.stdout_path().empty()) spec.set_stdout_path("slurm-%J.out");
}

int exit_status_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

std::string async_refusal(const submit::JobRequest& request) {
  if (!request.async) return request.parsable ? "--parsable requires --async." : "";
  std::string problems;
  const auto add = [&](const std::string& problem) {
    problems.append(problems.empty() ? "" : "\n").append(problem);
  };
  if (request.pty) add("--async and --pty are mutually exclusive.");
  if (request.immediate_seconds) add("--immediate and --async are mutually exclusive.");
  if (!request.job_id) add("--async is only valid for steps submitted within an existing job allocation.");
  if (problems.empty() && !request.mpi.empty() && request.mpi != "none") {
    add("--async does not support MPI type '" + request.mpi +
        "' (set by --mpi, SLURM_MPI_TYPE or MpiDefault). Use --mpi=none to run a non-MPI program.");
  }
  return problems;
}

int run_async(submit::JobRequest& request, const std::function<int(int told)>& step) {
  use_files(request.spec);
  auto pipe = os::make_pipe();
  if (!pipe) {
    std::fprintf(stderr, "srun: error: %s\n", pipe.error().message.c_str());
    return 1;
  }
  auto& [reader, writer] = *pipe;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    std::fprintf(stderr, "srun: error: fork: %m\n");
    return 1;
  }
  if (child == 0) {
    reader.reset();
    ::setsid();  // Ctrl-C is not for it
    std::exit(step(writer.get()));
  }
  writer.reset();
  uint32_t number = 0;
  ssize_t got = 0;
  while ((got = ::read(reader.get(), &number, sizeof number)) < 0 && errno == EINTR) {
  }
  if (got != static_cast<ssize_t>(sizeof number)) return exit_status_of(child);
  if (!request.quiet)
    std::printf("%s%u.%u\n", request.parsable ? "" : "Submitted step ", *request.job_id, number);
  return 0;
}

void leave_terminal() {
  const os::UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing) return;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), stream);
}

}  // namespace minke::cli
