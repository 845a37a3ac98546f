// srun: runs tasks in the allocation of its environment, or in one that it requests first.
//
// srun/step_request.h defines the step, and srun/run_step.h runs it.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "api/jobs.pb.h"
#include "api/steps.pb.h"
#include "cli/allocation.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/srun/async_step.h"
#include "cli/srun/components.h"
#include "cli/srun/launch_environment.h"
#include "cli/srun/run_step.h"
#include "cli/srun/step_request.h"
#include "engine/open.h"
#include "helpers/copy_file.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "mpi/program_kind.h"
#include "mpi/server.h"
#include "submit/job_request.h"
#include "submit/option_table.h"
#include "text/hostlist.h"
#include "text/number.h"

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

// Finds the job to run the step in. Else prints why not, and returns the exit status.
std::optional<int> find_job(engine::Engine& cluster, const submit::Invocation& invocation,
                            const submit::JobRequest& request, api::WaitJobReply& found) {
  const auto complain = [&](const std::string& message) {
    return give_up(submit::refuse(invocation, message, 1));
  };
  api::WaitJobRequest ask;
  ask.set_job_id(*request.job_id);
  ask.set_until(api::WaitJobRequest::STARTED);
  const Status asked = cluster.wait(ask, [&](api::WaitJobReply& reply) -> Status {
    found = std::move(reply);
    if (found.job().state() == model::JOB_PENDING)
      return failure("Job is pending execution", model::kJobPending);
    return {};
  });
  const std::string id = std::to_string(*request.job_id);
  if (!asked) {
    const int status = complain("Unable to confirm allocation for job " + id + ": " + asked.error().message);
    if (asked.error().code == model::kInvalidJobId)
      std::fprintf(stderr, "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job %s\n",
                   id.c_str());
    return status;
  }
  if (found.job().state() != model::JOB_RUNNING) {
    const int status = complain("Slurm job " + id + " has expired");
    std::fprintf(stderr, "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job %s\n",
                 id.c_str());
    return status;
  }
  return std::nullopt;
}

// Takes the cluster's mpi_default, which a job's variables have; for an srun outside of the job.
void take_default_mpi(submit::JobRequest& request, const auto& variables) {
  constexpr std::string_view kName = "SLURM_MPI_TYPE=";
  for (const std::string& variable : variables) {
    if (!request.is_given("mpi") && variable.starts_with(kName)) request.mpi = variable.substr(kName.size());
  }
}

// --het-group=NUMBER.
std::optional<uint64_t> component_of(const submit::CommandLine& line) {
  for (const submit::Setting& setting : line.components.front()) {
    if (setting.option->name == "het-group" || setting.option->name == "pack-group")
      return text::parse_unsigned(setting.value.value_or(""), 127);
  }
  return std::nullopt;
}

// Several components in a job of one component: each takes nodes of its own, one after the other.
Status take_nodes(HetStepPart& part, std::vector<std::string>& taken) {
  model::JobSpec& spec = part.request.spec;
  const auto of_job = static_cast<uint32_t>(std::max(1, part.job.nodes_size()));
  const auto is_taken = [&](const std::string& name) {
    return std::find(taken.begin(), taken.end(), name) != taken.end();
  };
  if (!spec.has_min_nodes()) spec.set_min_nodes(spec.has_ntasks() ? std::min(spec.ntasks(), of_job) : 1);
  std::vector<std::string> names;
  if (auto asked = text::expand_hostlist(spec.node_list()); asked) names = std::move(*asked);
  for (const std::string& name : names) {
    if (!is_taken(name)) continue;
    return failure("Requested nodelist " + spec.node_list() + " overlaps with excluded " +
                   text::compress_hostlist_sorted(taken) + ".\nJob not submitted.");
  }
  for (const auto& node : part.job.nodes()) {
    const bool named = std::find(names.begin(), names.end(), node.node()) != names.end();
    if (names.size() < spec.min_nodes() && !named && !is_taken(node.node())) names.push_back(node.node());
  }
  if (names.size() < spec.min_nodes()) {
    return failure("Allocation failure of " + std::to_string(spec.min_nodes()) + " nodes: job size of " +
                   std::to_string(of_job) + ", already allocated " + std::to_string(taken.size()) +
                   " nodes to previous components.");
  }
  taken.insert(taken.end(), names.begin(), names.end());
  spec.set_node_list(text::compress_hostlist_sorted(names));
  return {};
}

// Makes one request for each line, with its tasks. `plain`: the job is not a heterogeneous one.
std::optional<int> make_parts(engine::Engine& cluster, submit::Invocation invocation,
                              std::vector<submit::CommandLine> lines, int argc, char** argv, bool plain,
                              std::vector<HetStepPart>& parts, std::vector<std::string>& node_of_rank) {
  const auto complain = [&](const std::string& message) {
    return give_up(submit::refuse(invocation, message, 1));
  };
  std::vector<std::string> nodes_taken;
  if (plain) {  // the job's size is not that of a component
    std::erase_if(invocation.environment, [](const std::string& variable) {
      const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
      return name == "SLURM_NNODES" || name == "SLURM_JOB_NUM_NODES" || name == "SLURM_NTASKS" ||
             name == "SLURM_NPROCS";
    });
  }
  for (submit::CommandLine& line : lines) {
    HetStepPart& part = parts.emplace_back();
    const auto group = text::parse_unsigned(line.components.front().back().value.value_or(""), 127);
    if (plain) line.components.front().pop_back();  // the number that split_components() gave it
    auto request = submit::make_job_request(invocation, line);
    if (!request) return give_up(invocation, request.error());
    part.request = std::move(*request);
    complete_submission(part.request, argc, argv);
    auto environment = job_environment(invocation, part.request);
    if (!environment) return complain(environment.error().message);
    api::WaitJobReply found;
    if (const auto status = find_job(cluster, invocation, part.request, found)) return *status;
    part.job = !plain && group && static_cast<int>(*group) < found.het_components_size()
                   ? found.het_components(static_cast<int>(*group))
                   : found.job();
    if (plain) {
      if (const Status room = take_nodes(part, nodes_taken); !room) return complain(room.error().message);
    }
    if (!invocation.variable("SLURM_JOB_ID")) {
      *environment =
          add_to_environment(*environment, {found.environment().begin(), found.environment().end()});
    }
    auto spec = make_step_spec(invocation, part.request, part.job, std::move(*environment));
    if (!spec) return complain(spec.error().message);
    part.spec = std::move(*spec);
    part.line = std::move(line);
  }
  node_of_rank = join_parts(parts);
  return std::nullopt;
}

// Returns the MPI kind for the ranks of all parts: that of --mpi, or of the first part's program.
std::optional<mpi::Kind> mpi_of(const HetStepPart& first) {
  if (first.request.mpi == "pmi2") return mpi::Kind::kPmi;
  if (first.request.mpi == "pmix") return mpi::Kind::kPmix;
  if (!first.request.mpi.empty() || first.request.multi_prog) return std::nullopt;
  const auto kind = mpi::kind_of_program(helpers::find_program(first.spec.argv(0), first.spec.work_dir()));
  return kind == mpi::Kind::kPmix && !mpi::PmixServer::available() ? std::nullopt : kind;
}

int srun_components(submit::Invocation invocation, const submit::CommandLine& line, int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto cluster = engine::open();
  if (!cluster)
    return give_up(submit::refuse(invocation, "Unable to allocate resources: " + cluster.error().message, 1));
  std::optional<uint32_t> own_job;
  const auto& settings = line.components.front();
  const bool inside = invocation.variable("SLURM_JOB_ID") ||
                      std::any_of(settings.begin(), settings.end(),
                                  [](const auto& setting) { return setting.option->name == "jobid"; });
  if (!inside) {
    auto request = submit::make_job_request(invocation, line);
    if (!request) return give_up(invocation, request.error());
    complete_submission(*request, argc, argv);
    const auto environment = job_environment(invocation, *request);
    if (!environment) return give_up(submit::refuse(invocation, environment.error().message, 1));
    if (const auto status = answer_before_submission(**cluster, "srun", *request)) return *status;
    if (request->test_only)
      return report_test(invocation, test_allocation(**cluster, *request, *environment));
    auto allocation = allocate(**cluster, invocation, *request, *environment);
    if (!allocation)
      return give_up_allocation(invocation, *request, "Unable to allocate resources: ", allocation.error());
    own_job = allocation->job.job_id();
    // From here on, srun is within its job.
    invocation.environment.insert(invocation.environment.begin(), allocation->environment.begin(),
                                  allocation->environment.end());
  }
  const auto size = text::parse_unsigned(invocation.variable("SLURM_HET_SIZE").value_or("1"), 128);
  const bool plain =
      !invocation.variable("SLURM_HET_SIZE") && line.components.size() > 1 && !names_groups(line);
  const auto lines = submit::Outcome<std::vector<submit::CommandLine>>(split_components(
      invocation, line, static_cast<uint32_t>(plain ? line.components.size() : size.value_or(1))));
  std::vector<HetStepPart> parts;
  std::vector<std::string> node_of_rank;
  int status = 1;
  if (!lines) {
    status = give_up(lines.error());
  } else if (const auto refused =
                 make_parts(**cluster, invocation, *lines, argc, argv, plain, parts, node_of_rank)) {
    status = *refused;
  } else {
    std::optional<MpiWorld> world;
    if (const auto kind = mpi_of(parts.front())) world = MpiWorld{*kind, std::move(node_of_rank)};
    status = run_parts(parts, world, [&](size_t number, int told) {
      HetStepPart& part = parts[number];
      const auto own = engine::open();
      if (!own) return give_up(submit::refuse(invocation, own.error().message, 1));
      return run_step(**own, invocation, part.request, part.job, part.spec, told, part.mpi_address).status;
    });
  }
  if (own_job) (void)give_back(**cluster, *own_job, as_step_end(status).wait_status);
  return status;
}

// Returns why the request is refused before the cluster is asked; empty if it is not.
std::string refusal(const submit::JobRequest& request) {
  if (std::string problem = async_refusal(request); !problem.empty()) return problem;
  if (!request.job_id && request.is_given("relative"))
    return "fatal: --relative option invalid for job allocation request";
  if (!request.is_given("bcast") || request.multi_prog) return "";
  const std::string& program = request.arguments.front();
  const bool runs = ::access(helpers::find_program(program, request.spec.work_dir()).c_str(), X_OK) == 0;
  return runs ? "" : "fatal: Can not execute " + program;
}

// Asks for a job for the step alone. Else prints why not, and returns the exit status.
std::optional<int> allocate_job(engine::Engine& cluster, const submit::Invocation& invocation,
                                submit::JobRequest& request, std::string& environment,
                                model::JobRecord& job) {
  if (request.test_only) return report_test(invocation, test_allocation(cluster, request, environment));
  auto allocation = allocate(cluster, invocation, request, environment);
  if (!allocation)
    return give_up_allocation(invocation, request, "Unable to allocate resources: ", allocation.error());
  job = allocation->job;
  take_default_mpi(request, allocation->environment);
  environment = add_to_environment(environment, allocation->environment);
  return std::nullopt;
}

// Joins the job that the request names, or the component of it that --het-group names. Else prints why not,
// and returns the exit status.
std::optional<int> join_job(engine::Engine& cluster, const submit::Invocation& invocation,
                            std::optional<uint64_t> group, submit::JobRequest& request,
                            std::string& environment, model::JobRecord& job) {
  api::WaitJobReply found;
  if (const auto status = find_job(cluster, invocation, request, found)) return *status;
  const bool of_component = group && !invocation.variable("SLURM_HET_SIZE") &&
                            *group < static_cast<uint64_t>(found.het_components_size());
  job = of_component ? found.het_components(static_cast<int>(*group)) : found.job();
  // Called from outside of the job: its tasks still get the job's variables.
  if (!invocation.variable("SLURM_JOB_ID")) {
    take_default_mpi(request, found.environment());
    environment = add_to_environment(environment, {found.environment().begin(), found.environment().end()});
  }
  return std::nullopt;
}

// Runs one step of one job, which exists already or is requested.
int srun_alone(const submit::Invocation& invocation, std::optional<uint64_t> group,
               submit::JobRequest& request, std::string environment, int told = -1) {
  const auto complain = [&](const std::string& message) {
    return give_up(submit::refuse(invocation, message, 1));
  };
  const auto cluster = engine::open();
  if (!cluster) return complain("Unable to allocate resources: " + cluster.error().message);
  const bool own_allocation = !request.job_id.has_value();
  if (const auto status = answer_before_submission(**cluster, "srun", request)) return *status;
  model::JobRecord job;
  if (const auto status = own_allocation ? allocate_job(**cluster, invocation, request, environment, job)
                                         : join_job(**cluster, invocation, group, request, environment, job))
    return *status;
  if (request.verbose > 0) {
    std::fprintf(stderr, "srun: jobid %u: nodes(%d):`%s', cpu counts: %s\n", job.job_id(), job.nodes_size(),
                 job.node_list().c_str(), cpu_counts(job).c_str());
  }
  auto spec = make_step_spec(invocation, request, job, std::move(environment));
  const StepEnd end = spec ? run_step(**cluster, invocation, request, job, std::move(*spec), told)
                           : as_step_end(complain(spec.error().message));
  if (own_allocation) (void)give_back(**cluster, job.job_id(), end.wait_status);
  return end.status;
}

}  // namespace

int srun_main(int argc, char** argv) {
  const submit::Invocation invocation = current_invocation(submit::Command::kSrun, argc, argv);
  const auto complain = [&](const std::string& message) {
    return give_up(submit::refuse(invocation, message, 1));
  };
  const auto line = submit::read_command_line(invocation);
  if (!line) return give_up(invocation, line.error());
  if (line->show != submit::ShowOnly::kNothing) return show(submit::Command::kSrun, *line);
  for (const submit::Setting& setting : line->components.front()) {
    if (setting.option->name == "mpi" && setting.value == "list") return list_mpi_types();
  }
  const bool several = names_several_components(*line);
  const auto& all = line->components;
  const bool async = std::any_of(all.begin(), all.end(), [](const auto& settings) {
    return std::any_of(settings.begin(), settings.end(),
                       [](const submit::Setting& setting) { return setting.option->name == "async"; });
  });
  if (several && async)
    return complain("--async is for a step of one component: give each component an srun of its own");
  if (several) return srun_components(invocation, *line, argc, argv);
  auto request = submit::make_job_request(invocation, *line);
  if (!request) return give_up(invocation, request.error());
  print_notes(*request);
  complete_submission(*request, argc, argv);
  auto environment = job_environment(invocation, *request);
  if (!environment) return complain(environment.error().message);
  std::signal(SIGPIPE, SIG_IGN);
  if (const std::string problem = refusal(*request); !problem.empty()) return complain(problem);
  const auto group = component_of(*line);
  if (!request->async) return srun_alone(invocation, group, *request, std::move(*environment));
  return run_async(*request, [&](int told) {
    return srun_alone(invocation, group, *request, std::move(*environment), told);
  });
}

}  // namespace minke::cli
