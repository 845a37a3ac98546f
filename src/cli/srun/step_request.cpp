#include "cli/srun/step_request.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>

#include "api/steps.pb.h"
#include "base/version.h"
#include "cli/allocation.h"
#include "cli/srun/launch_environment.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "os/files.h"
#include "submit/implied.h"
#include "submit/multi_prog.h"
#include "text/cpu_bind.h"
#include "text/hostlist.h"
#include "text/mem_bind.h"
#include "text/number.h"

namespace minke::cli {

namespace {

constexpr size_t kLongestFile = size_t{4} << 20;

bool on_command_line(const submit::JobRequest& request, std::string_view option) {
  const auto found = request.given.find(option);
  return found != request.given.end() && found->second == submit::Source::kCommandLine;
}

// SLURM_HOSTFILE: one name on each line, one for each task.
Result<std::string> read_host_file(const std::string& path) {
  const auto content = os::read_file(path, kLongestFile);
  if (!content) return failure("Failure getting NodeNames from hostfile");
  std::string list;
  for (const std::string_view line : text::split(*content, '\n')) {
    const std::string_view name = text::trim(line);
    if (!name.empty() && name.front() != '#') list.append(list.empty() ? "" : ",").append(name);
  }
  return list;
}

// Returns how many tasks a step in this job has. Slurm's defaults: one a node; with --ntasks-per-node that
// many a node; if srun itself is given --cpus-per-task, as many as the job's CPUs there serve.
uint32_t count_tasks(const submit::JobRequest& request, const model::JobRecord& job, uint32_t nodes) {
  if (request.spec.has_ntasks()) return request.spec.ntasks();
  if (request.spec.has_ntasks_per_node()) return nodes * request.spec.ntasks_per_node();
  const uint32_t each = std::max(1U, request.spec.cpus_per_task());
  if (!on_command_line(request, "cpus-per-task") || request.is_given("gpus-per-task")) return nodes;
  const auto named = text::expand_hostlist(request.spec.node_list());
  uint32_t tasks = 0, counted = 0;
  for (int i = static_cast<int>(request.relative_node); i < job.nodes_size() && counted < nodes; ++i) {
    const std::string& name = job.nodes(i).node();
    if (named && !named->empty() && std::find(named->begin(), named->end(), name) == named->end()) continue;
    tasks += std::max(1U, job.nodes(i).cpus() / each);
    ++counted;
  }
  return std::max(tasks, nodes);
}

// Whether the job's own --cpus-per-task, which the step inherits, would ask for more than the job has: then
// it was not meant for this step. Since 23.11 Slurm refuses such a step.
bool outgrows_the_job(const submit::JobRequest& request, const model::JobRecord& job, uint32_t tasks) {
  if (!request.job_id || on_command_line(request, "cpus-per-task") || spoken_release() >= kSlurm24)
    return false;
  uint64_t cpus = 0;
  for (const auto& node : job.nodes()) cpus += node.cpus();
  return tasks <= cpus && uint64_t{tasks} * request.spec.cpus_per_task() > cpus;
}

// Slurm's srun listens at a port, and tells its tasks the number. Here nobody uses that way; the number is
// one that nobody else has while this process lives.
uint16_t own_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);  // closed when srun ends
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, any, size) != 0 || ::getsockname(fd, any, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

// Returns how many of the job's nodes --exclude leaves.
uint32_t nodes_left(const submit::JobRequest& request, const model::JobRecord& job) {
  const auto excluded = text::expand_hostlist(request.spec.exclude());
  const auto is_excluded = [&](const auto& node) {
    return excluded && std::find(excluded->begin(), excluded->end(), node.node()) != excluded->end();
  };
  return static_cast<uint32_t>(job.nodes_size() -
                               std::count_if(job.nodes().begin(), job.nodes().end(), is_excluded));
}

// `nodes` is the number from the command line or the job's variables.
Status check_nodes(const submit::JobRequest& request, const model::JobRecord& job, uint32_t nodes) {
  const uint32_t left = nodes_left(request, job);
  if (left == 0 && job.nodes_size() > 0) return failure("Hostlist is empty!  Can't run job.");
  if (request.spec.has_ntasks()) nodes = std::min(nodes, request.spec.ntasks());
  if (nodes > left) {
    std::string message =
        "Only allocated " + std::to_string(left) + " nodes asked for " + std::to_string(nodes);
    if (!request.spec.exclude().empty()) message += "\nAre required nodes explicitly excluded?";
    return failure(message);
  }
  if (!request.is_given("relative")) return {};
  if (request.is_given("nodelist") || request.is_given("exclude"))
    return failure("-r,--relative not allowed with -w,--nodelist or -x,--exclude.");
  const auto of_job = static_cast<uint32_t>(std::max(1, job.nodes_size()));
  if (request.relative_node + nodes > of_job) {
    // A step of one task takes one node, whatever the job's variables say.
    const bool named = on_command_line(request, "nodes") || nodes == 1;
    return failure(std::string("--relative and ") + (named ? "--nodes" : "SLURM_JOB_NUM_NODES") +
                   " option incompatible with count of allocated nodes (" +
                   std::to_string(request.relative_node) + "+" + std::to_string(nodes) + ">" +
                   std::to_string(of_job) + ")");
  }
  return {};
}

// Returns the binding that --hint and --threads-per-core imply.
std::string implied_cpu_bind(const model::JobSpec& asked) {
  if (asked.hint() == "compute_bound" || asked.hint() == "memory_bound") return "cores";
  return !asked.hint().empty() || asked.has_threads_per_core() ? "threads" : "";
}

// --mem-bind in the form for tasks: "v,prefer,map_mem:0,1".
std::vector<std::string> memory_binding(const text::MemBind& bind) {
  const std::string quiet = bind.verbose ? "verbose" : "quiet";
  const std::string what = bind.word + bind.list;
  std::vector<std::string> variables = {
      "SLURM_MEM_BIND=" + quiet + (bind.prefer ? ",prefer" : "") + (what.empty() ? "" : ",") + what,
      "SLURM_MEM_BIND_VERBOSE=" + quiet, "SLURM_MEM_BIND_TYPE=" + bind.word,
      "SLURM_MEM_BIND_LIST=" + bind.list};
  if (bind.prefer) variables.emplace_back("SLURM_MEM_BIND_PREFER=prefer");
  if (bind.sort) variables.emplace_back("SLURM_MEM_BIND_SORT=sort");
  return variables;
}

// `nodes` is the step's.
std::vector<std::string> own_variables(const submit::JobRequest& request, const api::StepSpec& spec,
                                       uint32_t nodes) {
  char mask[16];
  std::snprintf(mask, sizeof mask, "%04o", spec.umask());
  std::vector<std::string> variables = {std::string("SLURM_UMASK=") + mask,
                                        "SLURM_PRIO_PROCESS=" + nice_value()};
  const auto add = [&](const char* name, const std::string& value) {
    variables.push_back(std::string(name) + "=" + value);
  };
  if (const uint16_t port = own_port(); port != 0) {
    add("SLURM_SRUN_COMM_PORT", std::to_string(port));
    add("SLURM_STEP_LAUNCHER_PORT", std::to_string(port));
  }
  if (!spec.name().empty()) add("SLURM_JOB_NAME", spec.name());
  if (!request.mpi.empty()) add("SLURM_MPI_TYPE", request.mpi);
  // Newer releases count tasks that nobody named, of several CPUs each, as more than the nodes.
  const bool unnamed =
      spoken_release() >= kSlurm24 && request.spec.has_cpus_per_task() && !request.spec.has_ntasks();
  const std::string by_count = spec.ntasks() <= nodes && !unnamed ? "cyclic" : "block";
  // Within a job the default is passed on, and put in front; srun alone passes on only what was asked for, as
  // Slurm does: the sruns of its tasks would take the default for a request.
  const bool packing = request.job_id && (spec.distribution() == "pack" || spec.distribution() == "nopack");
  if (spec.distribution().empty()) {
    if (request.job_id && !request.interactive) add("SLURM_DISTRIBUTION", by_count);
  } else if (packing) {
    add("SLURM_DISTRIBUTION", by_count + "," + spec.distribution());
  } else {
    const size_t equals = spec.distribution().find('=');
    add("SLURM_DISTRIBUTION", spec.distribution().substr(0, equals));
    if (equals != std::string::npos) add("SLURM_DIST_PLANESIZE", spec.distribution().substr(equals + 1));
  }
  const std::string cpu_bind = spec.cpu_bind().empty() ? implied_cpu_bind(request.spec) : spec.cpu_bind();
  if (const auto bind = text::parse_cpu_bind(cpu_bind); bind && !cpu_bind.empty()) {
    add("SLURM_CPU_BIND", (bind->verbose ? "verbose," : "quiet,") + bind->word + bind->list);
    add("SLURM_CPU_BIND_VERBOSE", bind->verbose ? "verbose" : "quiet");
    add("SLURM_CPU_BIND_TYPE", bind->word);
    add("SLURM_CPU_BIND_LIST", bind->list);
  }
  if (const auto bind = text::parse_mem_bind(request.spec.mem_bind());
      bind && !request.spec.mem_bind().empty()) {
    for (std::string& variable : memory_binding(*bind)) variables.push_back(std::move(variable));
  }
  return variables;
}

// Returns the number of the step's nodes: of a range as many as there are, but no more than tasks.
Result<uint32_t> count_nodes(const submit::JobRequest& request, const model::JobRecord& job) {
  if (request.interactive) return 1;
  const model::JobSpec& asked = request.spec;
  const auto of_job = static_cast<uint32_t>(std::max(1, job.nodes_size()));
  uint32_t nodes = asked.has_min_nodes() ? asked.min_nodes() : of_job;
  if (request.job_id) {
    if (const Status fine = check_nodes(request, job, nodes); !fine) return failure(fine.error());
  }
  if (asked.max_nodes() > nodes) {
    const uint32_t useful = asked.has_ntasks() ? std::max(nodes, asked.ntasks()) : asked.max_nodes();
    nodes = std::min(asked.max_nodes(), useful);
  }
  return std::min(nodes, of_job);
}

// Takes --ntasks-per-node, unless it contradicts the number of tasks; prints a message then.
void take_tasks_per_node(const submit::JobRequest& request, uint32_t nodes, api::StepSpec& spec) {
  const model::JobSpec& asked = request.spec;
  if (!asked.has_ntasks_per_node()) return;
  const uint32_t on = std::min(nodes, spec.ntasks());
  const auto note = request.job_id && asked.has_ntasks() && spoken_release() < kSlurm24
                        ? submit::unlike_tasks_per_node(asked.ntasks_per_node(), spec.ntasks(), on)
                        : std::nullopt;
  if (note) {
    std::fprintf(stderr, "srun: %s\n", note->c_str());
  } else {
    spec.set_ntasks_per_node(asked.ntasks_per_node());
  }
}

// Licences are the job's: as in Slurm, a step has those, and what it asks for itself is checked alone.
Status check_licenses(const submit::JobRequest& request) {
  if (!request.job_id || request.licenses_per_task.empty() || !on_command_line(request, "tres-per-task"))
    return {};
  std::fputs(
      "srun: warning: Ignoring --tres-per-task license specification because licenses can only be specified "
      "at job allocation time, not during step allocation.\n",
      stderr);
  for (const auto& [name, count] : request.licenses_per_task)
    if (name.find_first_of("/:=") != std::string::npos)
      return failure("Unable to create step for job " + std::to_string(*request.job_id) +
                     ": Invalid Trackable RESource (TRES) specification");
  return {};
}

// A job that srun asked for itself may have fewer nodes than were named: the step is on those that it got.
std::string nodes_of_own_job(const std::string& named, const model::JobRecord& job) {
  const auto names = text::expand_hostlist(named);
  if (!names) return named;
  std::vector<std::string> got;
  for (const std::string& name : *names) {
    const bool there = std::any_of(job.nodes().begin(), job.nodes().end(),
                                   [&](const auto& node) { return node.node() == name; });
    if (there) got.push_back(name);
  }
  return text::compress_hostlist(got);
}

// Decides how many tasks there are, and on which nodes.
Status lay_out(const submit::Invocation& invocation, const submit::JobRequest& request,
               const model::JobRecord& job, uint32_t nodes, api::StepSpec& spec) {
  const model::JobSpec& asked = request.spec;
  spec.set_distribution(asked.distribution());
  spec.set_node_list(request.job_id ? asked.node_list() : nodes_of_own_job(asked.node_list(), job));
  const bool arbitrary = text::starts_with_ignoring_case(asked.distribution(), "arbitrary");
  if (const auto file = invocation.variable("SLURM_HOSTFILE");
      arbitrary && file && asked.node_list().empty()) {
    auto list = read_host_file(std::string(*file));
    if (!list) return failure(list.error());
    spec.set_node_list(*list);
  }
  uint32_t tasks = count_tasks(request, job, nodes);
  if (arbitrary && !spec.node_list().empty() && !on_command_line(request, "ntasks")) {
    if (const auto names = text::expand_hostlist(spec.node_list()))
      tasks = static_cast<uint32_t>(names->size());
  }
  spec.set_ntasks(tasks);
  if (asked.has_min_nodes()) spec.set_min_nodes(request.job_id ? nodes : std::min(nodes, tasks));
  take_tasks_per_node(request, nodes, spec);
  return {};
}

Status take_programs(const submit::JobRequest& request, api::StepSpec& spec) {
  if (request.multi_prog) {
    const std::string& path = request.arguments.front();
    const auto content = os::read_file(path, kLongestFile);
    if (!content) return failure("Could not open multi_prog config file " + path);
    auto programs = submit::parse_multi_prog(*content, path, spec.ntasks());
    if (!programs) return failure(programs.error());
    for (const auto& program : *programs) {
      api::StepProgram& one = *spec.add_programs();
      for (const std::string& word : program) one.add_argv(word);
    }
  }
  for (const std::string& argument : request.arguments) spec.add_argv(argument);
  return {};
}

void take_cpus_and_memory(const submit::JobRequest& request, const model::JobRecord& job,
                          api::StepSpec& spec) {
  const model::JobSpec& asked = request.spec;
  if (asked.has_cpus_per_task() && !outgrows_the_job(request, job, spec.ntasks()))
    spec.set_cpus_per_task(asked.cpus_per_task());
  if (asked.has_mem_per_node_mib()) spec.set_mem_per_node_mib(asked.mem_per_node_mib());
  if (asked.has_mem_per_cpu_mib()) spec.set_mem_per_cpu_mib(asked.mem_per_cpu_mib());
  spec.set_cpu_bind(asked.cpu_bind());
}

// The job's variables about GPUs are not a step's own request: a step sees the job's GPUs anyway.
void take_gpus(const submit::JobRequest& request, api::StepSpec& spec) {
  const model::JobSpec& asked = request.spec;
  if (on_command_line(request, "gres") || on_command_line(request, "gpus-per-node"))
    *spec.mutable_gres_per_node() = asked.gres_per_node();
  if (on_command_line(request, "gres") && asked.gres_per_node().empty()) spec.set_no_gres(true);
  if (on_command_line(request, "gpus")) *spec.mutable_gpus() = asked.gpus();
  if (on_command_line(request, "gpus-per-socket")) *spec.mutable_gpus_per_socket() = asked.gpus_per_socket();
  // --gres=none overrides what the job's variables say of its tasks' GPUs.
  if (!spec.no_gres() || on_command_line(request, "gpus-per-task"))
    *spec.mutable_gpus_per_task() = asked.gpus_per_task();
  if (asked.has_ntasks_per_gpu()) spec.set_ntasks_per_gpu(asked.ntasks_per_gpu());
  spec.set_gpu_bind(asked.gpu_bind());
}

// The job's variables ask for the tasks of the steps that the shell begins; itself it is one task.
submit::JobRequest of_a_shell(submit::JobRequest request) {
  model::JobSpec& asked = request.spec;
  asked.set_ntasks(1);
  asked.set_min_nodes(1);
  asked.clear_max_nodes();
  asked.clear_ntasks_per_node();
  asked.clear_cpus_per_task();
  asked.clear_mem_per_node_mib();
  asked.clear_mem_per_cpu_mib();
  asked.clear_gpus_per_task();
  asked.clear_ntasks_per_gpu();
  asked.clear_distribution();
  return request;
}

// As listings tell it: a stream that stays srun's own has no name there.
std::string listed_path(const std::string& path) {
  if (path == "none") return "/dev/null";
  const bool of_srun = path == "all" || text::is_digits(path);
  return of_srun ? std::string() : path;
}

}  // namespace

Result<api::StepSpec> make_step_spec(const submit::Invocation& invocation, const submit::JobRequest& given,
                                     const model::JobRecord& job, std::string environment) {
  const submit::JobRequest request = given.interactive ? of_a_shell(given) : given;
  const model::JobSpec& asked = request.spec;
  const bool inside = request.job_id.has_value();
  const auto nodes = count_nodes(request, job);
  if (!nodes) return failure(nodes.error());
  api::StepSpec spec;
  if (on_command_line(request, "job-name")) spec.set_name(asked.name());
  if (const Status laid = lay_out(invocation, request, job, *nodes, spec); !laid)
    return failure(laid.error());
  if (const Status taken = take_programs(request, spec); !taken) return failure(taken.error());
  take_cpus_and_memory(request, job, spec);
  if (const Status fine = check_licenses(request); !fine) return failure(fine.error());
  take_gpus(request, spec);
  spec.set_work_dir(asked.work_dir());
  spec.set_submit_line(asked.submit_line());
  spec.set_container(asked.container());
  spec.set_container_id(asked.container_id());
  spec.set_stdin_path(listed_path(asked.stdin_path()));
  spec.set_stdout_path(listed_path(asked.stdout_path()));
  spec.set_stderr_path(listed_path(asked.stderr_path()));
  spec.set_relative_node(inside ? request.relative_node : 0);
  if (inside) spec.set_exclude(asked.exclude());
  spec.set_overlap(request.overlap || request.interactive);
  spec.set_interactive(request.interactive);
  spec.set_overcommit(asked.overcommit());
  spec.set_exact(request.exact);
  // In an allocation of its own it is the job's limit.
  if (inside && asked.has_time_limit_minutes() && asked.time_limit_minutes() != UINT32_MAX)
    spec.set_time_limit_minutes(asked.time_limit_minutes());
  spec.set_umask(request.umask.value_or(current_umask()));
  *spec.mutable_resource_limits() = asked.resource_limits();
  spec.set_open_mode(asked.open_mode());
  spec.set_immediate(request.immediate_seconds.has_value());
  spec.set_environment(add_to_environment(std::move(environment), own_variables(request, spec, *nodes)));
  return spec;
}

}  // namespace minke::cli
