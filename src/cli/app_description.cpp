#include "cli/app_description.h"

#include <algorithm>
#include <string_view>

#include "options/values.h"

namespace minke::cli {
namespace {

std::string_view keep(DescribedApps& into, std::string text) {
  return into.texts.emplace_back(std::move(text));
}

// What a shell offers for an operand of this name.
std::string_view operand_values(const std::string& name) {
  if (name == "job") return options::kJobIds;
  if (name == "partition") return options::kPartitionNames;
  for (const char* file :
       {"file", "FILE", "files", "directory", "archive", "source", "path", "from", "to", "trace", "model"})
    if (name == file) return options::kFiles;
  return {};
}

// The words of a type "TEXT:{full,lora,qlora}", separated by blanks; empty for others.
std::string choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return "";
  std::string words = type.substr(open + 1, close - open - 1);
  std::replace(words.begin(), words.end(), ',', ' ');
  return words;
}

std::string_view values_of(const CLI::Option& option, const std::string& name, DescribedApps& into) {
  if (std::string words = choices(option); !words.empty()) return keep(into, std::move(words));
  if (name == "jobs") return options::kJobIds;
  if (name == "account") return options::kAccountNames;
  for (const char* file :
       {"config", "file", "token-file", "svg", "waits", "certificate", "key", "gpu-library"})
    if (name == file) return options::kFiles;
  return name == "to" || name == "directory" ? options::kFiles : std::string_view();
}

std::string_view argument_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT") ? "number"
                                                                                          : "value";
}

bool is_shown(const CLI::Option& option) {
  return !option.get_group().empty() && !option.get_positional();
}

options::Option row_of(const CLI::Option& option, DescribedApps& into) {
  options::Option row;
  const std::string name = option.get_lnames().empty() ? "" : option.get_lnames().front();
  if (!name.empty()) row.name = keep(into, name);
  if (!option.get_snames().empty()) row.letter = option.get_snames().front()[0];
  std::string help = option.get_description();
  for (size_t i = 1; i < option.get_lnames().size(); ++i) help += "; also --" + option.get_lnames()[i];
  row.help = keep(into, std::move(help));
  if (option.get_type_size() == 0 || option.get_items_expected_max() == 0) return row;
  row.argument = options::ArgumentKind::kRequired;
  row.argument_name = argument_name(option);
  row.values = values_of(option, name, into);
  return row;
}

// "job [file...]"
std::string operands_of(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option :
       app.get_options([](const CLI::Option* one) { return one->get_positional(); })) {
    std::string name = option->get_name(true);
    if (option->get_items_expected_max() > 1) name += "...";
    out += (out.empty() ? "" : " ") + (option->get_required() ? name : "[" + name + "]");
  }
  return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

// "  import FILE   take in …" with a line for each of its options.
std::string lines_of(const CLI::App& app) {
  std::string out;
  for (const CLI::App* sub : commands_of(app)) {
    const std::string operands = operands_of(*sub);
    out += "  " + sub->get_name() + (operands.empty() ? "" : " " + operands) + "\n      " +
           sub->get_description() + "\n";
    for (const CLI::Option* option :
         sub->get_options([](const CLI::Option* one) { return is_shown(*one); })) {
      if (option->get_lnames().empty() || option->get_lnames().front() == "help") continue;
      out += "      --" + option->get_lnames().front() + "  " + option->get_description() + "\n";
    }
  }
  return out.empty() ? out : "Commands:\n" + out;
}

}  // namespace

void describe(const CLI::App& app, const std::string& name, DescribedApps& into) {
  options::Command command;
  command.name = keep(into, name);
  command.purpose = keep(into, app.get_description());
  command.operands = keep(into, commands_of(app).empty() ? operands_of(app) : "command [options]");
  for (const CLI::Option* option : app.get_options([](const CLI::Option* one) { return is_shown(*one); }))
    command.options.push_back(row_of(*option, into));
  for (const CLI::Option* option :
       app.get_options([](const CLI::Option* one) { return one->get_positional(); }))
    if (command.operand_values.empty()) command.operand_values = operand_values(option->get_name(true));
  command.commands = keep(into, lines_of(app));
  std::string names;
  for (const CLI::App* sub : commands_of(app)) names += (names.empty() ? "" : " ") + sub->get_name();
  if (!names.empty()) command.operand_values = keep(into, names);
  into.commands.push_back(std::move(command));
}

}  // namespace minke::cli
