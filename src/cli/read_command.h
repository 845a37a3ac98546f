// Reads the command line of a command that has a table of options (options/option.h): its variables,
// then its words, each by the function in its row. Messages are getopt's, with the name that the
// command was called by.
//
// One thread; blocking only in the functions of the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "options/arguments.h"
#include "options/help.h"
#include "options/option.h"
#include "view/output.h"

namespace minke::cli {

// What remains to be done after the options.
struct CommandRead {
  std::optional<int> status;  // the command ends with it
  std::vector<std::string> operands;
};

// Returns the options that variables give, in the order of the table.
std::vector<options::Setting> settings_of_environment(const options::Command& command);
// The option of --autocomplete, which stands in no table, has the number kIsAutocomplete.
inline constexpr size_t kIsAutocomplete = SIZE_MAX;
options::Arguments arguments_of(const options::Command& command, int argc, char** argv, options::Order order);
// Prints the options that begin so. Returns the exit status.
int show_matching(const options::Command& command, const std::string& begun);
// Prints what is wrong with the words. Returns the exit status.
int refuse_arguments(const options::Command& command, const char* called_as, const std::string& problem);

template <typename Target>
CommandRead read_command(const options::Table<Target>& table, int argc, char** argv, Target& target,
                         options::Order order = options::Order::kAnywhere) {
  const auto take = [&](std::vector<options::Setting>& settings, bool from_environment) {
    std::optional<int> status;
    for (options::Setting& setting : settings) {
      if (setting.option == kIsAutocomplete) {
        if (!status) status = show_matching(table.command, setting.value.value_or(""));
        continue;
      }
      const options::Option& option = table.command.options[setting.option];
      if (!status)
        status = table.rows[setting.option].take(
            target, {table.command, option, std::move(setting.value), from_environment});
    }
    return status;
  };
  std::vector<options::Setting> variables = settings_of_environment(table.command);
  if (!table.command.environment_last) {
    if (const auto status = take(variables, true)) return {status, {}};
  }
  options::Arguments arguments = arguments_of(table.command, argc, argv, order);
  if (const auto status = take(arguments.settings, false)) return {status, {}};
  if (!arguments.problem.empty()) return {refuse_arguments(table.command, argv[0], arguments.problem), {}};
  if (table.command.environment_last) {
    if (const auto status = take(variables, true)) return {status, {}};
  }
  return {std::nullopt, std::move(arguments.operands)};
}

// Handles --help, --usage and --version.
template <typename Target>
std::optional<int> show_help(Target&, const options::Given& given) {
  view::write_out(options::help_text(given.command));
  return 0;
}
template <typename Target>
std::optional<int> show_usage(Target&, const options::Given& given) {
  view::write_out(given.command.usage);
  return 0;
}
std::optional<int> show_version();
template <typename Target>
std::optional<int> show_version(Target&, const options::Given&) {
  return show_version();
}

}  // namespace minke::cli
