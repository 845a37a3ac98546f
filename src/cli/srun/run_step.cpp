#include "cli/srun/run_step.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "cli/commands.h"
#include "cli/srun/launch_environment.h"
#include "cli/srun/step_io.h"
#include "cli/srun/step_run.h"
#include "environment/container_words.h"
#include "environment/step_gpus.h"
#include "helpers/copy_file.h"
#include "helpers/task.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "mpi/program_kind.h"
#include "mpi/server.h"
#include "os/files.h"
#include "os/helper_program.h"
#include "rpc/frame.h"
#include "text/file_pattern.h"
#include "text/state.h"

namespace minke::cli {

namespace {

// --prolog and --epilog, or SrunProlog and SrunEpilog: run beside srun itself, before and after the step,
// whatever they return. Their arguments are the step's program and its arguments.
void run_beside(const std::string& program, const char* context, const std::string& job_id,
                const std::vector<std::string>& command) {
  if (program.empty() || program == "none") return;
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("SLURM_JOB_ID", job_id.c_str(), 1);
    ::setenv("SLURM_SCRIPT_CONTEXT", context, 1);
    ::execvp(program.c_str(), arguments.data());
    std::fprintf(stderr, "srun: error: %s: %m\n", program.c_str());
    ::_exit(127);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

// Takes the cluster's configuration for srun, if the command line gives nothing.
void take_configured_programs(engine::Engine& cluster, submit::JobRequest& request) {
  if (!request.prolog.empty() && !request.epilog.empty()) return;
  const auto reply = cluster.configuration();
  if (!reply) return;
  for (const api::Field& value : reply->values()) {
    if (value.name() == "SrunProlog" && request.prolog.empty()) request.prolog = value.value();
    if (value.name() == "SrunEpilog" && request.epilog.empty()) request.epilog = value.value();
  }
}

// --bcast: makes one copy, which all nodes see.
Status broadcast_program(std::string target, api::StepSpec& spec) {
  const std::string program = helpers::find_program(spec.argv(0), spec.work_dir());
  if (target.front() != '/') target = spec.work_dir() + "/" + target;
  if (target.ends_with('/')) target += program.substr(program.rfind('/') + 1);
  if (const Status copied = helpers::copy_file(program, target, {.replace = true, .preserve = true}); !copied)
    return failure("--bcast: " + copied.error().message);
  *spec.mutable_argv(0) = target;
  return {};
}

// Starts the server for the tasks' MPI library: that of --mpi, or that of the program, if it is available.
// Returns null if there is none, or (for components) another srun has it.
Result<std::unique_ptr<mpi::Server>> start_mpi(const submit::JobRequest& request, const api::StepSpec& spec,
                                               const std::string& mpi_address) {
  if (request.mpi.empty() && !request.multi_prog && !spec.has_het()) {
    const std::string program = helpers::find_program(spec.argv(0), spec.work_dir());
    auto kind = mpi::kind_of_program(program);
    // What an interpreter will load is not known: mostly Open MPI. A single task needs nobody's help.
    if (!kind && spec.ntasks() > 1 && mpi::may_load_mpi(program)) kind = mpi::Kind::kPmix;
    if (!kind) return nullptr;
    auto started = mpi::Server::start(*kind);
    return started ? std::move(*started) : nullptr;
  }
  if ((request.mpi != "pmi2" && request.mpi != "pmix") || !mpi_address.empty()) return nullptr;
  auto started = mpi::Server::start(request.mpi == "pmix" ? mpi::Kind::kPmix : mpi::Kind::kPmi);
  if (!started) return failure("--mpi=" + request.mpi + ": " + started.error().message);
  return std::move(*started);
}

// Returns the options of the wrapper in front of each task's program.
helpers::TaskOptions task_options(const submit::Invocation& invocation, const submit::JobRequest& request,
                                  const api::StepSpec& spec, const std::string& mpi_address) {
  helpers::TaskOptions task{.mpi_address = mpi_address,
                            .cpu_bind = spec.cpu_bind(),
                            .mem_bind = request.spec.mem_bind(),
                            .system = {},
                            .prolog = request.task_prolog,
                            .epilog = request.task_epilog,
                            .variables = {},
                            .stopped = request.debugger_test,
                            .tells_gpus = environment::tells_gpu_binding(spec.gpu_bind())};
  if (!request.preserve_env) return task;
  for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_NPROCS"}) {
    if (const auto value = invocation.variable(name))
      task.variables.push_back(std::string(name) + "=" + std::string(*value));
  }
  return task;
}

// Returns which tasks of the whole belong to this step.
StepIo::Part part_of(const api::StepSpec& spec) {
  const uint32_t tasks = spec.ntasks();
  if (!spec.has_het()) return {0, tasks, tasks};
  return {spec.het().first_task(), tasks, spec.het().tasks(), spec.het().first_node()};
}

// The first component's srun handles what they share: it empties their files, and reads the input.
void leave_to_first_component(submit::JobRequest& request, api::StepSpec& spec) {
  for (const std::string* path : {&request.spec.stdout_path(), &request.spec.stderr_path()})
    if (!path->empty() && !text::differs_by_task(*path)) spec.set_open_mode(model::OPEN_APPEND);
  if (request.spec.stdin_path().empty() || request.spec.stdin_path() == "all")
    request.spec.set_stdin_path("none");
}

// Returns the descriptors that go with the step.
Result<std::vector<os::UniqueFd>> set_up_streams(const submit::JobRequest& request, const StepIo::Part& part,
                                                 api::StepSpec& spec, StepIo& io) {
  std::vector<os::UniqueFd> descriptors;
  if (const Status ready = io.set_up(request, part, spec, descriptors); !ready) return failure(ready.error());
  if (descriptors.size() > rpc::kMaxDescriptors)
    return failure(
        "the streams of that many tasks need more descriptors than can be passed on; use "
        "--output=FILE%t --input=none");
  return descriptors;
}

}  // namespace

StepEnd as_step_end(int status) {
  return {status, status > 128 ? status - 128 : W_EXITCODE(status, 0)};
}

StepEnd run_step(engine::Engine& cluster, const submit::Invocation& invocation, submit::JobRequest& request,
                 const model::JobRecord& job, api::StepSpec spec, int told, const std::string& mpi_address) {
  const auto fail = [&](const std::string& message) {
    return as_step_end(give_up(submit::refuse(invocation, message, 1)));
  };
  const auto client = cluster.steps_with_descriptors();
  if (!client) return fail(client.error().message);
  const StepIo::Part part = part_of(spec);
  const bool first = part.first_task == 0;
  auto mpi_server = start_mpi(request, spec, mpi_address);
  if (!mpi_server) return fail(mpi_server.error().message);
  const auto task = task_options(invocation, request, spec,
                                 *mpi_server != nullptr ? (*mpi_server)->address() : mpi_address);
  if (task.needed()) {
    for (const std::string& word : helpers::task_command(task)) spec.add_wrapper(word);
  }
  if (!spec.interactive()) {
    const auto container = environment::container_words(request.spec, false);
    if (!container.empty())
      for (const std::string& word : os::helper_command(os::Helper::kContainer, container))
        spec.add_wrapper(word);
  }
  os::raise_descriptor_limit();  // the tasks have the limits that were read before
  if (!first) leave_to_first_component(request, spec);
  StepIo io;
  auto descriptors = set_up_streams(request, part, spec, io);
  if (!descriptors) return fail(descriptors.error().message);
  if (!request.bcast.empty() && !request.multi_prog) {
    if (const Status copied = broadcast_program(request.bcast, spec); !copied)
      return fail(copied.error().message);
  }
  const std::vector<std::string> command(spec.argv().begin(), spec.argv().end());
  if (first) {
    take_configured_programs(cluster, request);
    run_beside(request.prolog, "prolog_srun", std::to_string(job.job_id()), command);
  }
  StepRun run(**client, request, invocation, job, part.tasks, std::move(*mpi_server));
  run.tell_step_id(told);
  StepEnd end = as_step_end(run.run(std::move(spec), std::move(*descriptors), io));
  if (run.out_of_memory()) end.wait_status = text::kOutOfMemory;
  if (first) run_beside(request.epilog, "epilog_srun", std::to_string(job.job_id()), command);
  return end;
}

}  // namespace minke::cli
