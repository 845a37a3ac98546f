// read_command_line() reads argv as glibc's getopt_long does with "+" in front of its letters
// (options/arguments.h). Reading stops at the first argument that is not an option, or after "--".
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "options/arguments.h"
#include "submit/job_request.h"
#include "submit/option_reader.h"

namespace minke::submit {
namespace {

// The options of one command, as options/ reads them, and what each of them is here.
struct CommandOptions {
  std::vector<options::Option> read;
  std::vector<const Option*> rows;
};

// Options that came after most scripts had been written.
bool is_later(const Option& option, Command command) {
  constexpr std::string_view kLater[] = {"consolidate-segments",
                                         "container-env",
                                         "container-id",
                                         "container-image",
                                         "container-mount-home",
                                         "container-mounts",
                                         "container-name",
                                         "container-readonly",
                                         "container-remap-root",
                                         "container-save",
                                         "container-type",
                                         "container-workdir",
                                         "container-writable",
                                         "external",
                                         "external-launcher",
                                         "extra",
                                         "mem-update",
                                         "no-container-entrypoint",
                                         "no-container-mount-home",
                                         "no-container-remap-root",
                                         "resources",
                                         "segment",
                                         "spread-segments",
                                         "wait-for-children"};
  return std::find(std::begin(kLater), std::end(kLater), option.name) != std::end(kLater) ||
         (option.name == "resv-ports" && command != Command::kSrun);
}

CommandOptions make_options(Command command) {
  CommandOptions made;
  for (const Option& option : all_options()) {
    if (!option.belongs_to(command)) continue;
    made.read.push_back({.name = option.name,
                         .letter = option.letter,
                         .argument = option.argument,
                         .meaning = made.rows.size(),
                         .later = is_later(option, command)});
    made.rows.push_back(&option);
  }
  return made;
}

const CommandOptions& options_of(Command command) {
  static const std::map<Command, CommandOptions> kAll = {{Command::kSbatch, make_options(Command::kSbatch)},
                                                         {Command::kSalloc, make_options(Command::kSalloc)},
                                                         {Command::kSrun, make_options(Command::kSrun)}};
  return kAll.at(command);
}

}  // namespace

ReadOptions read_options(Command command, std::span<const std::string> arguments, Source source) {
  const CommandOptions& known = options_of(command);
  options::Arguments read = options::read_arguments(known.read, arguments, options::Order::kFirst);
  ReadOptions out;
  for (options::Setting& setting : read.settings)
    out.settings.push_back({known.rows[setting.option], std::move(setting.value), source});
  out.positional = std::move(read.operands);
  out.problem = std::move(read.problem);
  return out;
}

std::optional<Refusal> refuse_value(const Invocation& invocation, std::span<const Setting> settings) {
  JobRequest scratch;
  scratch.command = invocation.command;
  // Slurm looks at these values when all options are read.
  constexpr std::string_view kReadLater[] = {"array", "bbf",  "dependency", "gpus-per-node",
                                             "gres",  "hint", "mail-user"};
  for (const Setting& setting : settings) {
    const bool later =
        std::find(std::begin(kReadLater), std::end(kReadLater), setting.option->name) != std::end(kReadLater);
    if (setting.option->set == nullptr || later) continue;
    std::optional<std::string_view> value;
    if (setting.value) value = *setting.value;
    const Status fine = setting.option->set(Assignment{scratch, invocation, *setting.option, value});
    if (!fine) return refuse(invocation, fine.error().message, fine.error().code);
  }
  return std::nullopt;
}

Outcome<CommandLine> read_command_line(const Invocation& invocation) {
  CommandLine out;
  // Each of srun's components may name its own program, so " : " counts anywhere; elsewhere it counts only
  // among the options, because the arguments behind the script or command are the program's own.
  const bool anywhere = invocation.command == Command::kSrun;
  std::span<const std::string> rest = invocation.arguments;
  for (;;) {
    auto end = anywhere ? std::find(rest.begin(), rest.end(), ":") : rest.end();
    ReadOptions read = read_options(invocation.command, {rest.begin(), end}, Source::kCommandLine);
    for (const Setting& setting : read.settings) {
      // Slurm answers these while it reads, so arguments before them may still be wrong.
      if (setting.option->name == "help") out.show = ShowOnly::kHelp;
      if (setting.option->name == "usage") out.show = ShowOnly::kUsage;
      if (setting.option->name == "version") out.show = ShowOnly::kVersion;
      if (setting.option->name == "autocomplete") {
        out.show = ShowOnly::kMatching;
        out.begun = setting.value.value_or("");
      }
      if (out.show != ShowOnly::kNothing) {
        out.components.resize(1);
        return out;
      }
      if (setting.option->name == "wrap") out.wrap = setting.value;
      out.external |= setting.option->name == "external";
    }
    if (!read.problem.empty()) {
      if (auto wrong = refuse_value(invocation, read.settings)) return tl::unexpected(std::move(*wrong));
      return tl::unexpected(refuse_option(invocation, read.problem));
    }
    out.components.push_back(std::move(read.settings));
    bool more = anywhere ? end != rest.end() : !read.positional.empty() && read.positional[0] == ":";
    if (!more) {
      out.positional = std::move(read.positional);
      break;
    }
    if (anywhere) {
      out.programs.push_back(std::move(read.positional));
      rest = {end + 1, rest.end()};
    } else {
      rest = rest.last(read.positional.size() - 1);
    }
  }
  if (out.external && out.wrap)
    return tl::unexpected(refuse(invocation, "--wrap option not permitted with --external option", 1));
  if (out.external && !out.positional.empty())
    return tl::unexpected(refuse(invocation, "Script arguments not permitted with --external option", 1));
  if (out.wrap && !out.positional.empty()) {
    return tl::unexpected(refuse(invocation, "Script arguments not permitted with --wrap option", 1));
  }
  return out;
}

}  // namespace minke::submit
