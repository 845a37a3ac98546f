#include "submit/components.h"

#include <algorithm>

#include "submit/foreign_directives.h"
#include "submit/option_reader.h"
#include "submit/script.h"
#include "text/number.h"

namespace minke::submit {
namespace {

constexpr int kUsageStatus = 255;

// Options that apply to one component of a heterogeneous job; the others also apply to those behind it.
constexpr std::string_view kOfOneComponent[] = {
    "bb",
    "bbf",
    "cluster-constraint",
    "constraint",
    "container",
    "contiguous",
    "core-spec",
    "cores-per-socket",
    "cpu-freq",
    "cpus-per-gpu",
    "cpus-per-task",
    "distribution",
    "exclusive",
    "extra-node-info",
    "gpu-bind",
    "gpu-freq",
    "gpus",
    "gpus-per-node",
    "gpus-per-socket",
    "gpus-per-task",
    "gres",
    "gres-flags",
    "licenses",
    "mail-type",
    "mail-user",
    "mem-bind",
    "mem-per-cpu",
    "mem-per-gpu",
    "mincpus",
    "network",
    "nodefile",
    "nodelist",
    "nodes",
    "ntasks",
    "ntasks-per-core",
    "ntasks-per-gpu",
    "ntasks-per-node",
    "ntasks-per-socket",
    "ntasks-per-tres",
    "overcommit",
    "oversubscribe",
    "partition",
    "power",
    "segment",
    "sockets-per-node",
    "spread-job",
    "switches",
    "tasks-per-node",
    "thread-spec",
    "threads-per-core",
    "tmp",
    "tres-bind",
    "tres-per-task",
    "use-min-nodes",
};

bool is_of_one_component(const Setting& setting) {
  return std::find(std::begin(kOfOneComponent), std::end(kOfOneComponent), setting.option->name) !=
         std::end(kOfOneComponent);
}

bool is_memory(const Setting& setting) {
  return setting.option->name == "mem" || setting.option->name == "mem-per-cpu" ||
         setting.option->name == "mem-per-gpu";
}

// A switch is set by its variable where that is empty, "yes" or a number other than 0.
bool says_yes(std::string_view value) {
  if (value.empty() || text::equals_ignoring_case(value, "yes")) return true;
  size_t digit = std::min(value.find_first_not_of("+-0"), value.size());
  return digit < value.size() && value[digit] >= '1' && value[digit] <= '9';
}

// The value of an input variable. Within a heterogeneous job the name of each component's variable ends in
// its number; a name without one means the first component, if the option applies to one component at all.
std::optional<std::string_view> value_of(const Invocation& invocation, const Option& option,
                                         const std::string& name, const std::optional<std::string>& group) {
  if (!group) return invocation.variable(name);
  if (auto value = invocation.variable(name + "_HET_GROUP_" + *group)) return value;
  const Setting setting{&option, std::nullopt, Source::kEnvironment};
  if (*group != "0" && (is_of_one_component(setting) || is_memory(setting) || option.name == "jobid")) {
    return std::nullopt;
  }
  return invocation.variable(name);
}

// --het-group of srun's command line, if it is one number.
std::optional<std::string> group_of(const CommandLine& command_line) {
  std::optional<std::string> group;
  for (const Setting& setting : command_line.components[0]) {
    if (setting.option->name == "het-group" || setting.option->name == "pack-group") group = setting.value;
  }
  return group;
}

std::vector<Setting> environment_settings(const Invocation& invocation,
                                          const std::optional<std::string>& group) {
  std::vector<Setting> out;
  const bool in_allocation = invocation.variable("SLURM_JOB_ID").has_value();
  for (const Option& option : all_options()) {
    for (const std::string& name : input_variables(option, invocation.command)) {
      auto value = value_of(invocation, option, name, group);
      if (!value || (name == "SLURM_STEP_GRES" && !in_allocation)) continue;
      if (option.argument == ArgumentKind::kNone) {
        if (says_yes(*value)) out.push_back({&option, std::string(*value), Source::kEnvironment});
      } else if (option.name == "get-user-env" && invocation.release >= kSlurm26) {
        out.push_back({&option, std::nullopt, Source::kEnvironment});  // whatever it says
      } else if (option.name == "requeue" && *value != "expedite" && invocation.release < kSlurm26) {
        if (says_yes(*value)) out.push_back({&option, std::nullopt, Source::kEnvironment});
      } else if (!value->empty()) {
        std::string text(*value);
        if (option.name == "distribution" && text == "plane")  // a job's variables give its size separately
          if (const auto size = invocation.variable("SLURM_DIST_PLANESIZE")) text.append("=").append(*size);
        out.push_back({&option, std::move(text), Source::kEnvironment});
      } else if (option.argument == ArgumentKind::kOptional) {
        out.push_back({&option, std::nullopt, Source::kEnvironment});
      }
    }
  }
  return out;
}

bool ignores_pbs(const std::vector<Setting>& settings) {
  return std::any_of(settings.begin(), settings.end(),
                     [](const Setting& setting) { return setting.option->name == "ignore-pbs"; });
}

Outcome<std::vector<Setting>> settings_of(const Invocation& invocation,
                                          const std::vector<std::string>& arguments) {
  ReadOptions read = read_options(invocation.command, arguments, Source::kScript);
  if (!read.problem.empty() || !read.positional.empty()) {
    if (auto wrong = refuse_value(invocation, read.settings)) return tl::unexpected(std::move(*wrong));
  }
  if (!read.problem.empty()) return tl::unexpected(refuse_option(invocation, read.problem));
  if (!read.positional.empty())
    return tl::unexpected(
        refuse(invocation, "Invalid directive found in batch script: " + read.positional[0], kUsageStatus));
  return std::move(read.settings);
}

void append(std::vector<Setting>& to, const std::vector<Setting>& what) {
  to.insert(to.end(), what.begin(), what.end());
}

}  // namespace

Outcome<Components> collect_settings(const Invocation& invocation, const CommandLine& command_line,
                                     const ScriptFile* script) {
  Components out;
  std::vector<std::vector<Setting>> of_script;
  std::vector<Setting> foreign;
  const std::vector<Setting> of_environment = environment_settings(invocation, group_of(command_line));
  if (script != nullptr) {
    std::string name = script->path.empty() ? "stdin" : script->path.substr(script->path.rfind('/') + 1);
    auto scanned = scan_script(script->content, name, invocation.release);
    if (!scanned) return tl::unexpected(refuse(invocation, scanned.error().message, scanned.error().code));
    out.notes = std::move(scanned->notes);
    if (scanned->has_packjob) {
      out.notes.emplace_back(
          invocation.release < kSlurm24
              ? "Warning: the \"packjob\" component separator is being deprecated. Please, use \"hetjob\" "
                "instead."
              : "warning: The \"packjob\" component separator is deprecated. Please use \"hetjob\" instead.");
    }
    bool ignore = ignores_pbs(of_environment) || ignores_pbs(command_line.components[0]);
    for (const std::vector<Directive>& component : scanned->components) {
      std::vector<std::string> arguments;
      for (const Directive& directive : component) arguments.push_back(directive.argument);
      auto settings = settings_of(invocation, arguments);
      if (!settings) return tl::unexpected(settings.error());
      ignore = ignore || ignores_pbs(*settings);
      of_script.push_back(std::move(*settings));
    }
    if (!ignore) {
      auto read = read_foreign_directives(script->content);
      if (!read) return tl::unexpected(refuse(invocation, read.error().message, read.error().code));
      auto settings = settings_of(invocation, read->arguments);
      if (!settings) return tl::unexpected(settings.error());
      foreign = std::move(*settings);
      out.umask = std::move(read->umask);
    }
  }
  const size_t components = std::max({of_script.size(), command_line.components.size(), size_t{1}});
  for (size_t i = 0; i < components; ++i) {
    std::vector<Setting> own;
    if (i < of_script.size()) append(own, of_script[i]);
    append(own, foreign);
    append(own, of_environment);
    // The last component of the command line also serves components that only the script has.
    append(own, command_line.components[std::min(i, command_line.components.size() - 1)]);
    std::vector<Setting> all;
    if (i > 0) {
      const bool has_memory = std::any_of(own.begin(), own.end(), is_memory);
      for (Setting setting : out.settings[i - 1]) {
        if (is_of_one_component(setting) || (has_memory && is_memory(setting))) continue;
        setting.source = Source::kScript;  // the component's own settings take precedence
        all.push_back(std::move(setting));
      }
    }
    append(all, own);
    out.settings.push_back(std::move(all));
  }
  return out;
}

}  // namespace minke::submit
