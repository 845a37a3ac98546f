#include "cli/usage_description.h"

#include <algorithm>
#include <string>

#include "options/values.h"
#include "text/number.h"

namespace minke::cli {
namespace {

std::string_view values_of(std::string_view argument) {
  for (const std::string_view file : {"FILE", "DIRECTORY", "TABLE"})
    if (argument == file) return options::kFiles;
  return argument == "auto" ? argument : std::string_view();
}

// Reads "--dir DIRECTORY" or "--checkpoint=auto".
options::Option row_of(std::string_view words, std::string_view help, DescribedApps& into) {
  options::Option row;
  words.remove_prefix(2);
  const size_t end = std::min(words.find_first_of(" ="), words.size());
  row.name = words.substr(0, end);
  row.help = into.texts.emplace_back(help);
  if (end == words.size()) return row;
  row.argument = options::ArgumentKind::kRequired;
  row.argument_name = words.substr(end + 1);
  row.values = values_of(row.argument_name);
  return row;
}

}  // namespace

void describe_usage(std::string_view name, std::string_view purpose, std::string_view operands,
                    std::string_view usage, DescribedApps& into) {
  constexpr std::string_view kBefore = "  --", kBetween = "  ";
  options::Command command;
  command.name = into.texts.emplace_back(name);
  command.purpose = into.texts.emplace_back(purpose);
  command.operands = into.texts.emplace_back(operands);
  command.operand_values = options::kFiles;
  bool in_option = false;
  for (const std::string_view line : text::split(usage, '\n')) {
    const std::string_view words = text::trim(line);
    if (line.starts_with(kBefore)) {
      const size_t gap = std::min(words.find(kBetween), words.size());
      command.options.push_back(row_of(words.substr(0, gap), text::trim(words.substr(gap)), into));
      in_option = true;
    } else if (in_option && line.starts_with(kBetween) && !words.empty()) {
      command.options.back().help =
          into.texts.emplace_back(std::string(command.options.back().help) + " " + std::string(words));
    } else {
      in_option = false;
    }
  }
  command.options.push_back({.name = "help", .help = "print this help"});
  into.commands.push_back(std::move(command));
}

}  // namespace minke::cli
