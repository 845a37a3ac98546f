// srun: runs tasks, inside the allocation that it finds in its environment, or in one that it asks for first.
//
// What the step is to be stands in step_request.h, how srun lives through it in step_run.h, the tasks'
// streams in step_io.h, and what stands in front of a task's program in task.h.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/allocation.h"
#include "cli/client.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/srun/launch_environment.h"
#include "cli/srun/step_io.h"
#include "cli/srun/step_request.h"
#include "cli/srun/step_run.h"
#include "cli/srun/task.h"
#include "model/error.h"
#include "mpi/server.h"
#include "os/files.h"
#include "rpc/frame.h"
#include "submit/job_request.h"
#include "submit/option_table.h"

extern char** environ;

namespace minke::cli {

namespace {

int list_mpi_types() {
  std::fputs("MPI plugin types are...\n\tnone\n\tpmi2\n", stderr);
  if (mpi::PmixServer::available()) {
    std::fputs("\tpmix\nspecific pmix plugin versions available: pmix_v4\n", stderr);
  }
  return 0;
}

// 2(x3),1(x1): the CPUs of three nodes and of one.
std::string cpu_counts(const model::JobRecord& job) {
  std::string text;
  for (int i = 0, end = 0; i < job.nodes_size(); i = end) {
    while (end < job.nodes_size() && job.nodes(end).cpus() == job.nodes(i).cpus()) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(job.nodes(i).cpus()) + "(x" + std::to_string(end - i) +
            ")";
  }
  return text;
}

// --prolog and --epilog: beside srun itself, before and after the step, whatever they return.
void run_beside(const std::string& program, const std::string& job_id) {
  if (program.empty() || program == "none") return;
  ::setenv("SLURM_JOB_ID", job_id.c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp(program.c_str(), program.c_str(), nullptr);
    std::fprintf(stderr, "srun: error: %s: %m\n", program.c_str());
    ::_exit(127);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

int srun_main(int argc, char** argv) {
  const submit::Invocation invocation = current_invocation(submit::Command::kSrun, argc, argv);
  const auto complain = [&](const std::string& message) {
    return give_up(submit::refuse(invocation, message, 1));
  };
  const auto line = submit::read_command_line(invocation);
  if (!line) return give_up(line.error());
  if (line->show != submit::ShowOnly::kNothing) return show(submit::Command::kSrun, line->show);
  for (const submit::Setting& setting : line->components.front()) {
    if (setting.option->name == "mpi" && setting.value == "list") return list_mpi_types();
  }
  auto request = submit::make_job_request(invocation, *line);
  if (!request) return give_up(request.error());
  print_notes(*request);
  if (!request->het_components.empty())
    return complain("steps of heterogeneous jobs (\" : \") are not supported");
  complete_submission(*request, argc, argv);
  auto environment = job_environment(invocation, *request);
  if (!environment) return complain(environment.error().message);
  std::signal(SIGPIPE, SIG_IGN);
  if (!request->job_id && request->is_given("relative"))
    return complain("fatal: --relative option invalid for job allocation request");

  auto client = Client::connect();
  if (!client) return complain("Unable to allocate resources: " + client.error().message);
  const bool own_allocation = !request->job_id.has_value();
  if (const auto status = answer_before_submission(*client, "srun", *request)) return *status;
  model::JobRecord job;
  if (own_allocation && request->test_only)
    return report_test(invocation, test_allocation(*client, *request, *environment));
  if (own_allocation) {
    auto allocation = allocate(*client, invocation, *request, *environment);
    if (!allocation)
      return give_up_allocation(invocation, "Unable to allocate resources: ", allocation.error());
    job = allocation->job;
    *environment = add_to_environment(*environment, allocation->environment);
  } else {
    rpc::ClientMessage ask;
    ask.mutable_wait_job()->set_job_id(*request->job_id);
    ask.mutable_wait_job()->set_until(rpc::WaitJobRequest::STARTED);
    std::vector<std::string> variables;
    const Status found = client->stream(ask, [&](rpc::ServerMessage& reply) -> Status {
      job = reply.wait_job().job();
      variables.assign(reply.wait_job().environment().begin(), reply.wait_job().environment().end());
      if (!reply.last() && job.state() == model::JOB_PENDING)
        return failure("Job is pending execution", model::kJobPending);
      return {};
    });
    if (!found) {
      const std::string id = std::to_string(*request->job_id);
      const int status =
          complain("Unable to confirm allocation for job " + id + ": " + found.error().message);
      if (found.error().code == model::kInvalidJobId)
        std::fprintf(stderr, "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job %s\n",
                     id.c_str());
      return status;
    }
    if (job.state() != model::JOB_RUNNING) {
      const std::string id = std::to_string(*request->job_id);
      const int status = complain("Slurm job " + id + " has expired");
      std::fprintf(stderr, "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job %s\n",
                   id.c_str());
      return status;
    }
    // Called from outside of the job: its tasks get the job's variables all the same.
    if (!invocation.variable("SLURM_JOB_ID")) *environment = add_to_environment(*environment, variables);
  }
  if (request->verbose > 0) {
    std::fprintf(stderr, "srun: jobid %u: nodes(%d):`%s', cpu counts: %s\n", job.job_id(), job.nodes_size(),
                 job.node_list().c_str(), cpu_counts(job).c_str());
  }
  const auto fail = [&](const std::string& message) {
    if (own_allocation) (void)give_back(*client, job.job_id(), 1 << 8);
    return complain(message);
  };
  auto spec = make_step_spec(invocation, *request, job, std::move(*environment));
  if (!spec) return fail(spec.error().message);
  const uint32_t tasks = spec->ntasks();
  std::unique_ptr<mpi::Server> mpi_server;
  TaskOptions task{"", spec->cpu_bind(), request->task_prolog, request->task_epilog, {}};
  if (request->mpi == "pmi2" || request->mpi == "pmix") {
    auto started = mpi::Server::start(request->mpi == "pmix" ? mpi::Kind::kPmix : mpi::Kind::kPmi);
    if (!started) return fail("--mpi=" + request->mpi + ": " + started.error().message);
    mpi_server = std::move(*started);
    task.mpi_address = mpi_server->address();
  }
  if (request->preserve_env) {
    for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_NPROCS"}) {
      if (const auto value = invocation.variable(name))
        task.variables.push_back(std::string(name) + "=" + std::string(*value));
    }
  }
  if (task.needed()) {
    for (const std::string& word : task_command(task)) spec->add_wrapper(word);
  }
  os::raise_descriptor_limit();  // the tasks have the limits that were read before
  StepIo io;
  std::vector<os::UniqueFd> descriptors;
  if (const Status ready = io.set_up(*request, {0, tasks, tasks}, *spec, descriptors); !ready)
    return fail(ready.error().message);
  if (descriptors.size() > rpc::kMaxDescriptors) {
    return fail(
        "the streams of that many tasks need more descriptors than can be passed on; use "
        "--output=FILE%t --input=none");
  }
  run_beside(request->prolog, std::to_string(job.job_id()));
  StepRun run(*client, *request, invocation, job.job_id(), tasks, std::move(mpi_server));
  const int status = run.run(std::move(*spec), std::move(descriptors), io);
  run_beside(request->epilog, std::to_string(job.job_id()));
  if (own_allocation) {
    (void)give_back(*client, job.job_id(), status > 128 ? status - 128 : status << 8);
  }
  return status;
}

}  // namespace minke::cli
