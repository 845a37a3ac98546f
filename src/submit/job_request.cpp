#include "submit/job_request.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include "base/version.h"
#include "model/job_spec.pb.h"
#include "submit/components.h"
#include "submit/container_options.h"
#include "submit/defined_options.h"
#include "submit/implied.h"
#include "submit/option_reader.h"
#include "submit/option_table.h"
#include "submit/script.h"
#include "submit/setters.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::submit {
namespace {

constexpr uint64_t kMaxTasks = 2147483647;
constexpr int kUsageStatus = 255;

// Groups of options that exclude each other. Those of the highest source win; two in one source
// contradict each other.
constexpr std::string_view kMemoryOptions[] = {"mem", "mem-per-cpu", "mem-per-gpu"};

bool is_memory_option(const Setting& setting) {
  return std::find(std::begin(kMemoryOptions), std::end(kMemoryOptions), setting.option->name) !=
         std::end(kMemoryOptions);
}

std::optional<Refusal> apply(const Invocation& invocation, const Setting& setting, JobRequest& request) {
  const Option& option = *setting.option;
  request.given[std::string(option.name)] = setting.source;
  if (option.disposition == Disposition::kRefused) {
    std::string message = "--" + std::string(option.name) + " cannot be used here: ";
    return refuse(invocation, message.append(option.reason), 1);
  }
  if (option.set == nullptr) return std::nullopt;
  std::optional<std::string_view> value;
  if (setting.value) value = *setting.value;
  Status done = option.set(Assignment{request, invocation, option, value});
  if (done) return std::nullopt;
  return refuse(invocation, done.error().message, done.error().code);
}

std::string base_name(std::string_view path) {
  size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// --hint and the options that it stands for exclude each other: the one of the higher source holds, and
// --hint yields if the sources are equal.
void settle_hint(const std::vector<Setting>& settings, JobRequest& request) {
  const auto hint = request.given.find("hint");
  if (hint == request.given.end()) return;
  for (const std::string_view name : {"ntasks-per-core", "threads-per-core", "extra-node-info", "cpu-bind"}) {
    const auto other = request.given.find(name);
    if (other == request.given.end() || other->second < hint->second) continue;
    if (name == "cpu-bind" && std::any_of(settings.begin(), settings.end(), [](const Setting& setting) {
          return setting.option->name == "cpu-bind" && (setting.value == "verbose" || setting.value == "v");
        }))
      continue;
    if (request.verbose > 0 && other->second == hint->second) {
      request.notes.emplace_back(
          "Following options are mutually exclusive with --hint: --ntasks-per-core, --threads-per-core, -B "
          "and "
          "--cpu-bind (other then --cpu-bind=verbose). Ignoring --hint.");
    }
    request.spec.clear_hint();
    request.given.erase(hint);
    return;
  }
}

bool is_step(const JobRequest& request) {
  return request.command == Command::kSrun && request.job_id;
}

uint32_t named_nodes(const model::JobSpec& spec) {
  auto hosts = text::expand_hostlist(spec.node_list());
  if (spec.node_list().empty() || !hosts) return 0;
  return static_cast<uint32_t>(std::set<std::string>(hosts->begin(), hosts->end()).size());
}

std::optional<Refusal> fit_nodes_to_tasks(const Invocation& invocation, JobRequest& request) {
  model::JobSpec& spec = request.spec;
  if (!spec.has_ntasks()) return std::nullopt;
  // Nodes that are named are asked for, unless --nodes says how many.
  const uint32_t named = named_nodes(spec);
  if (spec.has_max_nodes() && named > spec.ntasks() && spec.min_nodes() <= spec.ntasks())
    spec.set_max_nodes(std::min(spec.max_nodes(), spec.ntasks()));
  // Each node has a task.
  if (invocation.release >= kSlurm26 && spec.has_max_nodes() && spec.min_nodes() <= spec.ntasks()) {
    if (spec.max_nodes() > spec.ntasks()) spec.clear_node_counts();  // any number up to that of its tasks
    spec.set_max_nodes(std::min(spec.max_nodes(), spec.ntasks()));
  }
  const uint32_t asked = spec.has_min_nodes() ? spec.min_nodes() : named;
  if (asked <= spec.ntasks()) return std::nullopt;
  request.notes.push_back((invocation.release < kSlurm24 ? "Warning: can't run " : "warning: can't run ") +
                          std::to_string(spec.ntasks()) + " processes on " + std::to_string(asked) +
                          " nodes, setting nnodes to " + std::to_string(spec.ntasks()));
  spec.clear_node_counts();
  spec.set_min_nodes(spec.ntasks());
  spec.set_max_nodes(spec.ntasks());
  return std::nullopt;
}

std::optional<Refusal> settle_tasks_per_node(const Invocation& invocation, JobRequest& request) {
  model::JobSpec& spec = request.spec;
  if (!spec.has_ntasks_per_node() || !spec.has_min_nodes()) return std::nullopt;
  if (spec.has_ntasks()) {
    if (request.command != Command::kSrun || request.job_id || invocation.release >= kSlurm24)
      return std::nullopt;
    if (auto note = unlike_tasks_per_node(spec.ntasks_per_node(), spec.ntasks(), spec.min_nodes())) {
      request.notes.push_back(std::move(*note));
      spec.clear_ntasks_per_node();
    }
    return std::nullopt;
  }
  const uint64_t tasks = uint64_t{std::max(1U, spec.min_nodes())} * spec.ntasks_per_node();
  if (tasks > kMaxTasks) return refuse(invocation, "too many tasks: --nodes times --ntasks-per-node", 1);
  spec.set_ntasks(static_cast<uint32_t>(tasks));
  return std::nullopt;
}

std::optional<Refusal> check_no_allocate(const Invocation& invocation, JobRequest& request) {
  if (!request.is_given("no-allocate")) return std::nullopt;
  if (request.spec.node_list().empty())
    return refuse(invocation, "must specify a node list with -Z, --no-allocate.", 1);
  request.notes.emplace_back("do not allocate resources");
  return std::nullopt;
}

// Ports are reserved for steps; for a job only where its own step manager hands them out.
std::optional<Refusal> check_ports(const Invocation& invocation, JobRequest& request) {
  const bool refused = request.is_given("resv-ports") && !request.spec.stepmgr() &&
                       request.command != Command::kSrun && invocation.release >= kSlurm24;
  if (!refused) return std::nullopt;
  return refuse(invocation,
                "Slurmstepd step management must be enabled to use --resv-ports for job allocations", 1);
}

std::optional<Refusal> check_segments(const Invocation& invocation, JobRequest& request) {
  const model::JobSpec& spec = request.spec;
  const uint32_t nodes = spec.min_nodes(), segment = spec.segment_size();
  const bool fixed = !spec.has_max_nodes() || spec.max_nodes() == nodes;
  if (spoken_release() < kSlurm26 || segment == 0 || !fixed || nodes <= segment || nodes % segment == 0)
    return std::nullopt;
  return refuse(invocation,
                "fatal: --segment=" + std::to_string(segment) + " does not fit the job size (" +
                    std::to_string(nodes) + "): node count must be evenly divisible by segment size",
                1);
}

// --tres-per-task and the option for the same amount. In a job variables tell both, and say the same.
std::optional<Refusal> check_amounts_by_task(const Invocation& invocation, JobRequest& request) {
  const auto is_asked = [&](const std::string& option) {
    const auto given = request.given.find(option);
    return given != request.given.end() && given->second != Source::kEnvironment;
  };
  if (invocation.release < kSlurm26 || !is_asked("tres-per-task")) return std::nullopt;
  const auto both = [&](const std::string& tres, const std::string& option) {
    return refuse(invocation,
                  "fatal: You can not have --tres-per-task=" + tres + "= and --" + option +
                      " please use one or the other",
                  1);
  };
  if (request.spec.has_ntasks_per_gpu())
    return refuse(
        invocation,
        "fatal: --tres-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU", 1);
  const std::string& amounts = request.spec.tres_per_task();
  if (is_asked("cpus-per-task") && amounts.find("cpu") != std::string::npos)
    return both("cpu", "cpus-per-task");
  if (is_asked("gpus-per-task") && amounts.find("gres/gpu") != std::string::npos)
    return both("gres/gpu", "gpus-per-task");
  return std::nullopt;
}

std::optional<Refusal> read_host_file(const Invocation& invocation, JobRequest& request) {
  model::JobSpec& spec = request.spec;
  const auto hosts = invocation.variable("SLURM_HOSTFILE");
  if (!hosts || !spec.node_list().empty()) return std::nullopt;
  // With such a file srun implies the distribution "arbitrary".
  if (request.command == Command::kSrun) spec.set_distribution("arbitrary");
  if (is_step(request) || !text::starts_with_ignoring_case(spec.distribution(), "arbitrary"))
    return std::nullopt;
  const auto option = std::find_if(all_options().begin(), all_options().end(),
                                   [](const Option& one) { return one.name == "nodefile"; });
  const Status read = set::node_file(Assignment{request, invocation, *option, *hosts});
  if (read) return std::nullopt;
  return refuse(invocation, read.error().message, read.error().code);
}

// A step inherits settled amounts from its job.
std::optional<Refusal> settle_amounts(const Invocation& invocation, JobRequest& request) {
  if (is_step(request)) return std::nullopt;
  const Geometry geometry{
      request.is_given("extra-node-info"), request.command == Command::kSrun, invocation.release,
      request.is_given("gpus-per-node"),   request.is_given("gres"),          request.is_given("exclusive"),
      request.is_given("oversubscribe")};
  const Status implied = imply_amounts(request.spec, geometry);
  if (implied) return std::nullopt;
  return refuse(invocation, implied.error().message, implied.error().code);
}

std::optional<Refusal> check_times(const Invocation& invocation, JobRequest& request) {
  const model::JobSpec& spec = request.spec;
  if (spec.has_time_min_minutes() && spec.has_time_limit_minutes() &&
      spec.time_min_minutes() > spec.time_limit_minutes()) {
    const char* before = request.command == Command::kSbatch   ? "Batch job submission failed: "
                         : request.command == Command::kSalloc ? "Job submit/allocate failed: "
                                                               : "Unable to allocate resources: ";
    return refuse(invocation,
                  std::string(before) + "Invalid time-min specification (exceeds job's time or other limits)",
                  1);
  }
  if (spec.begin_time() != 0 && spec.deadline() != 0 && spec.deadline() < spec.begin_time())
    return refuse(invocation, "Incompatible begin and deadline time specification", 1);
  return std::nullopt;
}

// A step inherits its job's SLURM_GPUS_PER_SOCKET; the job has settled which sockets.
std::optional<Refusal> check_gpus_per_socket(const Invocation& invocation, JobRequest& request) {
  const model::JobSpec& spec = request.spec;
  if (spec.gpus_per_socket_size() == 0 || spec.has_sockets_per_node() || is_step(request))
    return std::nullopt;
  return refuse(invocation,
                "--gpus-per-socket option requires --sockets-per-node specification\n"
                "Invalid generic resource (gres) specification",
                1);
}

std::optional<Refusal> count_licenses(const Invocation& invocation, JobRequest& request) {
  model::JobSpec& spec = request.spec;
  for (const auto& [name, count] : request.licenses_per_task) {
    const uint64_t total = uint64_t{count} * (spec.has_ntasks() ? spec.ntasks() : 1);
    std::string& licenses = *spec.mutable_licenses();
    if (!licenses.empty()) licenses += ',';
    licenses.append(name).append(1, invocation.release < kSlurm24 ? ':' : '=').append(std::to_string(total));
  }
  return std::nullopt;
}

std::optional<Refusal> bound_wait_for_switches(const Invocation& invocation, JobRequest& request) {
  model::JobSpec& spec = request.spec;
  if (!spec.has_switches() || spec.has_switches_wait_seconds()) return std::nullopt;
  constexpr std::string_view kVariables[] = {"SBATCH_WAIT4SWITCH", "SALLOC_WAIT4SWITCH", "SLURM_WAIT4SWITCH"};
  const bool interactive = request.command != Command::kSbatch;
  const auto value = invocation.variable(kVariables[interactive + (request.command == Command::kSrun)]);
  const auto minutes = value ? text::parse_minutes(*value) : Result<uint32_t>(kMaxSwitchWait);
  const uint64_t seconds = minutes ? uint64_t{*minutes} * 60 : kMaxSwitchWait;
  spec.set_switches_wait_seconds(static_cast<uint32_t>(std::min<uint64_t>(seconds, kMaxSwitchWait)));
  return std::nullopt;
}

// Within an allocation --exclusive applies to the step's CPUs.
std::optional<Refusal> settle_cpus_of_step(const Invocation&, JobRequest& request) {
  if (!is_step(request)) return std::nullopt;
  if (request.spec.exclusive() || request.is_given("cpus-per-task")) request.exact = true;
  request.spec.set_exclusive(false);
  return std::nullopt;
}

// Applies what options imply together, in Slurm's order: it decides which of several
// mistakes is reported.
std::optional<Refusal> complete(const Invocation& invocation, JobRequest& request) {
  for (const auto step :
       {check_amounts_by_task, fit_nodes_to_tasks, settle_tasks_per_node, check_no_allocate, read_host_file,
        settle_amounts, check_ports, check_segments, check_times, check_gpus_per_socket, check_container,
        count_licenses, bound_wait_for_switches, settle_cpus_of_step}) {
    if (auto refusal = step(invocation, request)) return refusal;
  }
  return std::nullopt;
}

void name_job(const CommandLine& command_line, const std::optional<ScriptFile>& script, JobRequest& request) {
  if (request.is_given("job-name")) return;
  model::JobSpec& spec = request.spec;
  switch (request.command) {
    case Command::kSbatch:
      if (command_line.external) {
        spec.set_name("external");
      } else if (command_line.wrap) {
        spec.set_name("wrap");
      } else {
        bool from_file = script && !command_line.positional.empty();
        spec.set_name(from_file ? base_name(command_line.positional[0]) : "sbatch");
      }
      break;
    case Command::kSalloc:
      spec.set_name("interactive");  // whatever its command is called
      break;
    case Command::kSrun:
      if (!request.arguments.empty()) spec.set_name(base_name(request.arguments[0]));
      break;
  }
}

}  // namespace

std::string_view command_name(Command command) {
  switch (command) {
    case Command::kSbatch:
      return "sbatch";
    case Command::kSalloc:
      return "salloc";
    case Command::kSrun:
      return "srun";
  }
  return "";
}

std::optional<std::string_view> Invocation::variable(std::string_view name) const {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

Refusal refuse(const Invocation& invocation, std::string_view message, int exit_status) {
  if (exit_status == set::kHelpStatus) return {std::string(message), 1, true};
  if (exit_status == set::kMemoryHelpStatus) return {std::string(message), set::kUsageStatus, true};
  if (exit_status == set::kWordStatus) return refuse_option(invocation, message);
  Refusal out;
  out.exit_status = exit_status;
  for (std::string_view line : text::split(message, '\n')) {
    if (line.starts_with("Invalid time specification (pos=")) {  // Slurm's time parser prints it unchanged
      out.text.append(line).append("\n");
      continue;
    }
    out.text.append(command_name(invocation.command)).append(": ");
    // "fatal: ..." is a line of its own kind, and so is what getopt(3) says.
    const bool of_getopt = line.starts_with("invalid option -- '") ||
                           line.starts_with("unrecognized option '") ||
                           line.starts_with("option requires an argument -- '");
    if (!line.starts_with("fatal: ") && !of_getopt) out.text.append("error: ");
    out.text.append(line).append("\n");
  }
  if (auto value = invocation.variable("SLURM_EXIT_ERROR")) {
    if (auto status = text::parse_unsigned(*value, 255); status && *status != 0) {
      out.exit_status = static_cast<int>(*status);
    }
  }
  return out;
}

Refusal refuse_option(const Invocation& invocation, std::string_view problem) {
  std::string name(command_name(invocation.command));
  Refusal out = refuse(invocation, "", kUsageStatus);
  out.text = name + ": " + std::string(problem) + "\nTry \"" + name + " --help\" for more information\n";
  return out;
}

namespace {

// Options of which Slurm only keeps the text while it reads them: of several in a row, the last is checked.
constexpr std::string_view kCheckedLast[] = {"array",         "dependency", "gpus",           "gpus-per-node",
                                             "gpus-per-task", "hint",       "gpus-per-socket"};

bool is_overridden(const std::vector<Setting>& settings, const Setting& setting) {
  if (std::find(std::begin(kCheckedLast), std::end(kCheckedLast), setting.option->name) ==
      std::end(kCheckedLast))
    return false;
  return std::any_of(settings.begin() + (&setting - settings.data()) + 1, settings.end(),
                     [&](const Setting& later) { return later.option == setting.option; });
}

// What Slurm has said by the time it refuses.
Refusal after_notes(const Invocation& invocation, const JobRequest& request, Refusal refusal) {
  // These contradict each other before one of them is ignored.
  const bool both_specs = refusal.text.find("--thred-spec") != std::string::npos ||
                          refusal.text.find("Both --core-spec") != std::string::npos;
  if (both_specs) return refusal;
  std::string before;
  for (const std::string& note : request.notes) {
    if (note.starts_with("warning: can't run ") || note.starts_with("error: Ignoring "))
      before.append(command_name(invocation.command)).append(": ").append(note).append("\n");
  }
  refusal.text.insert(0, before);
  return refusal;
}

// Puts the settings of one component into `request`, checks them and fills in what follows.
std::optional<Refusal> build(const Invocation& invocation, const std::vector<Setting>& settings,
                             JobRequest& request) {
  const Setting* memory = nullptr;
  for (const Setting& setting : settings) {
    if (!is_memory_option(setting)) continue;
    if (memory != nullptr && memory->source == setting.source && memory->option != setting.option) {
      return refuse(invocation, "fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.", 1);
    }
    memory = &setting;  // settings are in the order of their sources, so the last has the highest
  }
  for (const Setting& setting : settings) {
    if (memory != nullptr && is_memory_option(setting) && setting.source != memory->source) continue;
    if (is_overridden(settings, setting)) continue;
    if (auto refusal = apply(invocation, setting, request)) return refusal;
  }
  settle_hint(settings, request);
  return complete(invocation, request);
}

std::optional<Refusal> set_umask(const Invocation& invocation, const std::optional<std::string>& of_script,
                                 JobRequest& request) {
  std::optional<std::string_view> mask = invocation.variable("SLURM_UMASK");
  if (!mask && of_script) mask = *of_script;
  if (!mask) return std::nullopt;
  uint32_t value = 0;
  auto [end, error] = std::from_chars(mask->data(), mask->data() + mask->size(), value, 8);
  if (error != std::errc() || end != mask->data() + mask->size() || value > 0777) {
    return refuse(invocation, "Invalid umask: " + std::string(*mask), 1);
  }
  request.umask = value;
  return std::nullopt;
}

// Starts the request of all components. `file` is sbatch's script; nullptr if there is none to read.
Outcome<JobRequest> begin_request(const Invocation& invocation, const CommandLine& command_line,
                                  const ScriptFile* file) {
  JobRequest request;
  request.command = invocation.command;
  request.spec.set_work_dir(invocation.working_directory);
  if (file != nullptr) {
    if (auto good = check_script(file->content); !good)
      return tl::unexpected(refuse(invocation, good.error().message, good.error().code));
    request.script = file->content;
    request.spec.set_command(file->path);
  } else if (invocation.command == Command::kSbatch) {
    if (command_line.wrap) request.script = wrap_script(*command_line.wrap);
    request.spec.set_interactive(command_line.external);
    request.spec.set_external(command_line.external);
  } else {
    request.arguments = command_line.positional;
    request.spec.set_interactive(true);
  }
  if (!command_line.wrap)
    request.spec.mutable_arguments()->Assign(command_line.positional.begin(), command_line.positional.end());
  if (invocation.command == Command::kSrun && command_line.positional.empty())
    return tl::unexpected(refuse(invocation, "fatal: No command given to execute.", 1));
  return request;
}

// Slurm ignores a script's own --verbose and --quiet. Returns what --verbose lists.
Outcome<std::vector<std::string>> settle_verbosity(const Invocation& invocation,
                                                   const CommandLine& command_line,
                                                   const std::vector<Setting>& settings,
                                                   JobRequest& request) {
  const auto outside = [&](std::string_view name) {
    return std::any_of(settings.begin(), settings.end(), [name](const Setting& setting) {
      return setting.option->name == name && setting.source != Source::kScript;
    });
  };
  request.quiet = request.quiet && outside("quiet");
  if (!outside("verbose") || request.verbose == 0) return std::vector<std::string>();
  if (request.quiet)
    return tl::unexpected(refuse(invocation, "don't specify both --verbose (-v) and --quiet (-Q)", 1));
  return list_defined_options(settings, request, command_line.wrap);
}

}  // namespace

Outcome<JobRequest> make_job_request(const Invocation& invocation, const CommandLine& command_line,
                                     const std::optional<ScriptFile>& script) {
  const ScriptFile no_script;
  const ScriptFile* file = nullptr;
  if (invocation.command == Command::kSbatch && !command_line.wrap && !command_line.external)
    file = script ? &*script : &no_script;
  const auto empty = begin_request(invocation, command_line, file);
  if (!empty) return tl::unexpected(empty.error());
  auto components = collect_settings(invocation, command_line, file);
  if (!components) return tl::unexpected(components.error());

  JobRequest first;
  std::vector<model::JobSpec> specs;
  std::vector<std::string> defined;
  for (const std::vector<Setting>& settings : components->settings) {
    JobRequest request = *empty;
    if (auto refusal = build(invocation, settings, request))
      return tl::unexpected(after_notes(invocation, request, std::move(*refusal)));
    name_job(command_line, script, request);
    const auto lines = settle_verbosity(invocation, command_line, settings, request);
    if (!lines) return tl::unexpected(lines.error());
    defined.insert(defined.end(), lines->begin(), lines->end());
    specs.push_back(request.spec);
    if (specs.size() == 1) first = std::move(request);
  }
  if (auto refusal = set_umask(invocation, components->umask, first)) return tl::unexpected(*refusal);
  first.notes.insert(first.notes.begin(), components->notes.begin(), components->notes.end());
  first.notes.insert(first.notes.end(), defined.begin(), defined.end());
  if (specs.size() > 1) {
    if (first.spec.has_array()) {
      return tl::unexpected(
          refuse(invocation, "Batch job submission failed: Invalid job array specification", 1));
    }
    first.het_components = std::move(specs);
    first.het_programs = command_line.programs;
    first.het_programs.push_back(command_line.positional);
  }
  return first;
}

}  // namespace minke::submit
