#include "options/help.h"

#include <algorithm>

#include "options/examples.h"

namespace minke::options {
namespace {

constexpr size_t kWidestLeft = 32;

// "  -t, --time=limit"
std::string left_side(const Option& option) {
  std::string out = option.letter == '\0' ? "      " : std::string("  -") + option.letter;
  if (option.name.empty()) {
    if (option.argument != ArgumentKind::kNone) out.append(" ").append(option.argument_name);
    return out;
  }
  if (option.letter != '\0') out += ", ";
  return out + long_form(option.name, option.argument, option.argument_name);
}

bool is_of_help(const Option& option) {
  return option.name == "help" || option.name == "usage";
}

std::string lines(const Command& command, bool of_help, size_t column) {
  std::string out;
  for (const Option& option : command.options) {
    if (option.help.empty() || is_of_help(option) != of_help) continue;
    std::string left = left_side(option);
    if (left.size() + 2 > column) left += "\n";
    left.resize(left.find('\n') == std::string::npos ? column : left.size() + column, ' ');
    out.append(left).append(option.help).append("\n");
  }
  return out;
}

}  // namespace

std::string long_form(std::string_view name, ArgumentKind argument, std::string_view argument_name) {
  std::string out = "--" + std::string(name);
  if (argument == ArgumentKind::kNone) return out;
  if (argument_name.empty()) argument_name = "value";
  const bool optional = argument == ArgumentKind::kOptional;
  return out.append(optional ? "[=" : "=").append(argument_name).append(optional ? "]" : "");
}

std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '-' || c == '\\') out += '\\';
    if ((c == '.' || c == '\'') && out.empty()) out += "\\&";
    out += c;
  }
  return out;
}

std::string help_text(const Command& command) {
  size_t widest = 0;
  for (const Option& option : command.options)
    if (!option.help.empty()) widest = std::max(widest, left_side(option).size());
  const size_t column = std::min(widest, kWidestLeft) + 2;
  std::string out = "Usage: " + std::string(command.name) + " [OPTIONS]";
  if (!command.operands.empty()) out.append(" ").append(command.operands);
  out.append("\n").append(lines(command, false, column));
  const std::string of_help = lines(command, true, column);
  if (!of_help.empty()) out.append("\nHelp options:\n").append(of_help);
  if (!command.commands.empty()) out.append("\n").append(command.commands);
  if (const std::string examples = examples_text(command.name); !examples.empty())
    out.append("\n").append(examples);
  return out;
}

std::string man_page(const Command& command) {
  const std::string name(command.name);
  std::string title = name;  // as git's: minke-tail(1)
  std::replace(title.begin(), title.end(), ' ', '-');
  std::string out = ".TH " + title + " 1\n.SH NAME\n" + roff(title) + " \\- " + roff(command.purpose) +
                    "\n.SH SYNOPSIS\n.B " + name + "\n[OPTIONS] " + roff(command.operands) +
                    "\n.SH OPTIONS\n";
  std::string variables;
  for (const Option& option : command.options) {
    if (!option.help.empty()) {
      const std::string left = left_side(option);
      out +=
          ".TP\n\\fB" + roff(left.substr(left.find_first_not_of(' '))) + "\\fR\n" + roff(option.help) + ".\n";
    }
    if (!option.environment.empty()) {
      variables += ".TP\n\\fB" + std::string(option.environment) + "\\fR\nSame as \\fB\\-\\-" +
                   roff(option.name) + "\\fR.\n";
    }
  }
  if (!command.commands.empty()) {
    out += ".SH COMMANDS\n.nf\n";
    for (std::string_view rest = command.commands; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      out += roff(line) + "\n";
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    out += ".fi\n";
  }
  if (!variables.empty())
    out += ".SH INPUT ENVIRONMENT VARIABLES\nThe command line wins over these.\n" + variables;
  return out + examples_roff(command.name);
}

}  // namespace minke::options
