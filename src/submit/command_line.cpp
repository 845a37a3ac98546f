// read_command_line() reads argv as glibc's getopt_long does with "+" in front of its letters, but without
// its globals.
//
// Long names may be abbreviated; reading stops at the first argument that is not an option, or after "--".
// Messages are glibc's. (getopt_long itself keeps its place in globals and prints its messages, which a
// pure room cannot do.)
#include <algorithm>
#include <iterator>
#include <vector>

#include "submit/option_reader.h"

namespace minke::submit {
namespace {

// The option that a long name means, or the message why there is none.
struct Match {
  const Option* option = nullptr;
  std::string problem;
};

// Options newer than most scripts. An abbreviation that matches exactly one older option
// keeps that meaning.
bool is_later(const Option& option, Command command) {
  constexpr std::string_view kLater[] = {
      "consolidate-segments", "container-id", "container-type", "external-launcher", "extra",
      "mem-update",           "resources",    "segment",        "spread-segments",   "wait-for-children"};
  return std::find(std::begin(kLater), std::end(kLater), option.name) != std::end(kLater) ||
         (option.name == "resv-ports" && command != Command::kSrun);
}

Match find_long(Command command, std::string_view name, std::string_view whole) {
  std::vector<const Option*> candidates;
  for (const Option& option : all_options()) {
    if (!option.belongs_to(command) || !option.name.starts_with(name)) continue;
    if (option.name == name) return {&option, ""};
    candidates.push_back(&option);
  }
  if (candidates.empty()) return {nullptr, "unrecognized option '--" + std::string(whole) + "'"};
  if (candidates.size() > 1) {
    std::vector<const Option*> earlier;
    std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(earlier),
                 [&](const Option* option) { return !is_later(*option, command); });
    if (earlier.size() == 1) return {earlier[0], ""};
    std::string problem = "option '--" + std::string(whole) + "' is ambiguous; possibilities:";
    for (const Option* option : earlier.empty() ? candidates : earlier)
      problem.append(" '--").append(option->name).append("'");
    return {nullptr, problem};
  }
  return {candidates[0], ""};
}

const Option* find_letter(Command command, char letter) {
  for (const Option& option : all_options()) {
    if (option.belongs_to(command) && option.letter == letter) return &option;
  }
  return nullptr;
}

}  // namespace

ReadOptions read_options(Command command, std::span<const std::string> arguments, Source source) {
  ReadOptions out;
  size_t next = 0;
  auto fail = [&](std::string problem) {
    out.problem = std::move(problem);
    return out;
  };
  while (next < arguments.size()) {
    const std::string& argument = arguments[next];
    if (argument.size() < 2 || argument[0] != '-') break;
    ++next;
    if (argument == "--") break;
    if (argument[1] == '-') {
      std::string_view whole = std::string_view(argument).substr(2);
      size_t equals = whole.find('=');
      std::string_view name = whole.substr(0, equals);
      Match match = find_long(command, name, whole);
      if (match.option == nullptr) return fail(std::move(match.problem));
      const Option& option = *match.option;
      Setting setting{&option, std::nullopt, source};
      if (equals != std::string_view::npos) {
        if (option.argument == ArgumentKind::kNone) {
          return fail("option '--" + std::string(option.name) + "' doesn't allow an argument");
        }
        setting.value = std::string(whole.substr(equals + 1));
      } else if (option.argument == ArgumentKind::kRequired) {
        if (next == arguments.size()) {
          return fail("option '--" + std::string(option.name) + "' requires an argument");
        }
        setting.value = arguments[next++];
      }
      out.settings.push_back(std::move(setting));
      continue;
    }
    // -abc: letters together; the last one may have its argument behind it.
    for (size_t i = 1; i < argument.size(); ++i) {
      const Option* option = find_letter(command, argument[i]);
      if (option == nullptr) return fail(std::string("invalid option -- '") + argument[i] + "'");
      Setting setting{option, std::nullopt, source};
      bool takes_rest = option->argument != ArgumentKind::kNone && i + 1 < argument.size();
      if (takes_rest) {
        setting.value = argument.substr(i + 1);
      } else if (option->argument == ArgumentKind::kRequired) {
        if (next == arguments.size()) {
          return fail(std::string("option requires an argument -- '") + argument[i] + "'");
        }
        setting.value = arguments[next++];
      }
      out.settings.push_back(std::move(setting));
      if (takes_rest) break;
    }
  }
  out.positional.assign(arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end());
  return out;
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
      if (out.show != ShowOnly::kNothing) {
        out.components.resize(1);
        return out;
      }
      if (setting.option->name == "wrap") out.wrap = setting.value;
    }
    if (!read.problem.empty()) return tl::unexpected(refuse_option(invocation, read.problem));
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
  if (out.wrap && !out.positional.empty()) {
    return tl::unexpected(refuse(invocation, "Script arguments not permitted with --wrap option", 1));
  }
  return out;
}

}  // namespace minke::submit
