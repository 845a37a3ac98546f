#include "submit/job_request.h"

#include <algorithm>
#include <span>

#include "submit/option_reader.h"
#include "submit/script.h"
#include "text/duration.h"
#include "text/number.h"

namespace minke::submit {
namespace {

constexpr int kUsageStatus = 255;

// Options of which only one can be meant. Where several stand, those of the highest source win; two in one
// source contradict each other.
constexpr std::string_view kMemoryOptions[] = {"mem", "mem-per-cpu", "mem-per-gpu"};

bool is_memory_option(const Setting& setting) {
  return std::find(std::begin(kMemoryOptions), std::end(kMemoryOptions), setting.option->name) !=
         std::end(kMemoryOptions);
}

// A switch's variable that says no.
bool says_no(std::string_view value) {
  for (std::string_view word : {"0", "no", "off", "false"}) {
    if (text::equals_ignoring_case(value, word)) return true;
  }
  return false;
}

std::vector<Setting> environment_settings(const Invocation& invocation) {
  std::vector<Setting> out;
  for (const Option& option : all_options()) {
    for (const std::string& name : input_variables(option, invocation.command)) {
      auto value = invocation.variable(name);
      if (!value) continue;
      if (option.argument == ArgumentKind::kNone) {
        if (!says_no(*value)) out.push_back({&option, std::nullopt, Source::kEnvironment});
      } else if (!value->empty()) {
        out.push_back({&option, std::string(*value), Source::kEnvironment});
      } else if (option.argument == ArgumentKind::kOptional) {
        out.push_back({&option, std::nullopt, Source::kEnvironment});
      }
    }
  }
  return out;
}

Outcome<std::vector<Setting>> script_settings(const Invocation& invocation, const ScriptFile& script,
                                              bool& has_pbs_lines) {
  std::string name = script.path.empty() ? "stdin" : script.path.substr(script.path.rfind('/') + 1);
  auto scanned = scan_script(script.content, name);
  if (!scanned) return tl::unexpected(refuse(invocation, scanned.error().message, scanned.error().code));
  has_pbs_lines = scanned->has_pbs_lines;
  std::vector<std::string> arguments;
  for (const Directive& directive : scanned->arguments) arguments.push_back(directive.argument);
  ReadOptions read = read_options(invocation.command, arguments, Source::kScript);
  if (!read.problem.empty()) return tl::unexpected(refuse_option(invocation, read.problem));
  if (!read.positional.empty()) {
    return tl::unexpected(
        refuse(invocation, "Invalid directive found in batch script: " + read.positional[0], kUsageStatus));
  }
  return std::move(read.settings);
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

// What options imply together, in the order in which Slurm looks.
std::optional<Refusal> complete(const Invocation& invocation, JobRequest& request) {
  model::JobSpec& spec = request.spec;
  auto is_given = [&](std::string_view name) { return request.is_given(name); };
  bool tasks_given = spec.has_ntasks();
  if (tasks_given && spec.has_min_nodes() && spec.min_nodes() > spec.ntasks()) {
    request.notes.push_back("Warning: can't run " + std::to_string(spec.ntasks()) + " processes on " +
                            std::to_string(spec.min_nodes()) + " nodes, setting nnodes to " +
                            std::to_string(spec.ntasks()));
    spec.set_min_nodes(spec.ntasks());
    spec.set_max_nodes(spec.ntasks());
  }
  if (!tasks_given && spec.has_ntasks_per_node() && spec.has_min_nodes()) {
    uint64_t tasks = uint64_t{spec.min_nodes()} * spec.ntasks_per_node();
    if (tasks > 2147483647) return refuse(invocation, "too many tasks: --nodes times --ntasks-per-node", 1);
    spec.set_ntasks(static_cast<uint32_t>(tasks));
  }
  if (spec.gpus_per_task_size() != 0 && spec.gpus_size() == 0 && !spec.has_ntasks()) {
    return refuse(
        invocation,
        "Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not "
        "allowed.",
        1);
  }
  if (spec.has_time_min_minutes() && spec.has_time_limit_minutes() &&
      spec.time_min_minutes() > spec.time_limit_minutes()) {
    return refuse(
        invocation,
        "Batch job submission failed: Invalid time-min specification (exceeds job's time or other limits)",
        1);
  }
  // Within an allocation --exclusive speaks of the step's CPUs.
  if (request.command == Command::kSrun && request.job_id && spec.exclusive()) {
    spec.set_exclusive(false);
    request.exact = true;
  }
  if (is_given("cpus-per-task") && request.command == Command::kSrun && request.job_id) request.exact = true;
  return std::nullopt;
}

void name_job(const CommandLine& command_line, const std::optional<ScriptFile>& script, JobRequest& request) {
  if (request.is_given("job-name")) return;
  model::JobSpec& spec = request.spec;
  switch (request.command) {
    case Command::kSbatch:
      if (command_line.wrap) {
        spec.set_name("wrap");
      } else {
        bool from_file = script && !command_line.positional.empty();
        spec.set_name(from_file ? base_name(command_line.positional[0]) : "sbatch");
      }
      break;
    case Command::kSalloc:
      spec.set_name(request.arguments.empty() ? "interactive" : base_name(request.arguments[0]));
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
  Refusal out;
  out.exit_status = exit_status;
  for (std::string_view line : text::split(message, '\n')) {
    out.text.append(command_name(invocation.command)).append(": ");
    // "fatal: ..." is its own kind of line.
    if (!line.starts_with("fatal: ")) out.text.append("error: ");
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

Outcome<JobRequest> make_job_request(const Invocation& invocation, const CommandLine& command_line,
                                     const std::optional<ScriptFile>& script) {
  JobRequest request;
  request.command = invocation.command;
  request.spec.set_work_dir(invocation.working_directory);
  std::vector<Setting> settings;
  bool has_pbs_lines = false;
  if (invocation.command == Command::kSbatch) {
    if (command_line.wrap) {
      request.script = wrap_script(*command_line.wrap);
    } else {
      const ScriptFile& file = script ? *script : ScriptFile{};
      if (auto good = check_script(file.content); !good) {
        return tl::unexpected(refuse(invocation, good.error().message, good.error().code));
      }
      auto from_script = script_settings(invocation, file, has_pbs_lines);
      if (!from_script) return tl::unexpected(from_script.error());
      settings = std::move(*from_script);
      request.script = file.content;
      request.spec.set_command(file.path);
      request.spec.mutable_arguments()->Assign(command_line.positional.begin(),
                                               command_line.positional.end());
    }
  } else {
    request.arguments = command_line.positional;
    request.spec.set_interactive(true);
    request.spec.mutable_arguments()->Assign(command_line.positional.begin(), command_line.positional.end());
  }
  std::vector<Setting> from_environment = environment_settings(invocation);
  settings.insert(settings.end(), from_environment.begin(), from_environment.end());
  settings.insert(settings.end(), command_line.settings.begin(), command_line.settings.end());

  const Setting* memory = nullptr;
  for (const Setting& setting : settings) {
    if (!is_memory_option(setting)) continue;
    if (memory != nullptr && memory->source == setting.source && memory->option != setting.option) {
      return tl::unexpected(
          refuse(invocation, "fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.", 1));
    }
    memory = &setting;  // settings stand in the order of their sources, so the last is of the highest
  }
  for (const Setting& setting : settings) {
    if (memory != nullptr && is_memory_option(setting) && setting.source != memory->source) continue;
    if (auto refusal = apply(invocation, setting, request)) return tl::unexpected(std::move(*refusal));
  }
  if (auto refusal = complete(invocation, request)) return tl::unexpected(std::move(*refusal));
  if (has_pbs_lines && !request.is_given("ignore-pbs")) {
    request.notes.push_back("Warning: #PBS and #BSUB lines are not read; give the options as #SBATCH lines");
  }
  if (request.command == Command::kSrun && request.arguments.empty()) {
    return tl::unexpected(refuse(invocation, "fatal: No command given to execute.", 1));
  }
  name_job(command_line, script, request);
  return request;
}

}  // namespace minke::submit
