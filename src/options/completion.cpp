#include "options/completion.h"

#include <algorithm>

#include "options/values.h"
#include "text/shell_quote.h"

namespace minke::options {
namespace {

bool is_offered(const Option& option) {
  return !option.help.empty();
}

// "minke tail": a command below another, which is completed with it; "tail" then. Empty: it stands alone.
std::string_view below(const Command& command) {
  const size_t blank = command.name.find(' ');
  return blank == std::string_view::npos ? std::string_view() : command.name.substr(blank + 1);
}

constexpr std::string_view kAbove = "minke";  // it knows all commands as its own, too

// What may stand behind it, separated by blanks.
std::string names_below(std::span<const Command> commands) {
  std::string names;
  for (const Command& command : commands)
    names.append(names.empty() ? "" : " ").append(below(command).empty() ? command.name : below(command));
  return names;
}

bool has_commands_below(std::span<const Command> commands) {
  return std::any_of(commands.begin(), commands.end(),
                     [](const Command& one) { return !below(one).empty(); });
}

bool takes_files(const Command& command) {
  return command.operand_values == kFiles;
}

std::string listing(std::string_view values) {
  return std::string(values.substr(1)) + " 2>/dev/null";
}

// Returns the code that sets COMPREPLY to the values that begin with the word.
std::string bash_reply(std::string_view values) {
  std::string words = text::shell_quoted(values);
  if (values == kFiles) return "COMPREPLY=($(compgen -f -- \"$word\"))";
  if (values == kDirectories) return "COMPREPLY=($(compgen -d -- \"$word\"))";
  if (values.starts_with('$')) words = "\"$(" + listing(values) + ")\"";
  return "COMPREPLY=($(compgen -W " + words + " -- \"$word\"))";
}

// The row of a `case` on the command: its values, its operands and its options.
std::string bash_case(const Command& command) {
  std::string options, values;
  for (const Option& option : command.options) {
    if (!is_offered(option)) continue;
    const std::string name = option.name.empty() ? "" : "--" + std::string(option.name);
    const std::string letter = option.letter == '\0' ? "" : std::string("-") + option.letter;
    options += (options.empty() ? "" : " ") + (name.empty() ? letter : name);
    if (!name.empty() && option.argument == ArgumentKind::kRequired) options += '=';
    if (option.values.empty()) continue;
    values += "        " + name + (name.empty() || letter.empty() ? "" : "|") + letter + ") " +
              bash_reply(option.values) + "; return ;;\n";
  }
  const std::string name(command.name);
  std::string out = below(command).empty() ? "    " + name + "|'" + std::string(kAbove) + " " + name + "')\n"
                                           : "    '" + name + "')\n";
  if (!values.empty()) out += "      case $before in\n" + values + "      esac\n";
  if (!command.operand_values.empty() && !takes_files(command))
    out += "      [[ $word == -* ]] || { " + bash_reply(command.operand_values) + "; return; }\n";
  return out + "      options=" + text::shell_quoted(options) + " ;;\n";
}

std::string bash_script(std::span<const Command> commands) {
  std::string out =
      "# bash completion: eval \"$(minke completion bash)\"\n"
      "_minke() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options\n"
      "  # --name=value is three words where '=' separates words.\n"
      "  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; "
      "fi\n"
      "  local command=${COMP_WORDS[0]##*/}\n"
      "  [[ $command == " +
      std::string(kAbove) +
      " && $COMP_CWORD -gt 1 ]] && command=\"$command ${COMP_WORDS[1]}\"\n"
      "  case $command in\n";
  std::string of_files, others;
  for (const Command& command : commands) {
    out += bash_case(command);
    if (below(command).empty()) (takes_files(command) ? of_files : others).append(" ").append(command.name);
  }
  if (has_commands_below(commands)) {
    out += "    " + std::string(kAbove) + ") " + bash_reply(names_below(commands)) + "; return ;;\n";
    of_files.append(" ").append(kAbove);
  }
  out +=
      "  esac\n"
      "  [[ $word == -* ]] || return\n"
      "  COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
      "  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
      "}\n";
  if (!of_files.empty()) out += "complete -o default -F _minke" + of_files + "\n";
  if (!others.empty()) out += "complete -F _minke" + others + "\n";
  return out;
}

// A description within [] of _arguments.
std::string zsh_help(std::string_view help) {
  std::string out;
  for (char c : help) {
    if (c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// ":name:action" of _arguments.
std::string zsh_argument(std::string_view argument_name, std::string_view values) {
  const auto without_colons = [](std::string_view text) {
    std::string out;
    for (char c : text) {
      if (c == ':' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  };
  const std::string out = ":" + without_colons(argument_name) + ":";
  if (values.empty()) return out + " ";
  if (values == kFiles) return out + "_files";
  if (values == kDirectories) return out + "_files -/";
  if (values.starts_with('$')) return out + "{compadd -- ${(f)\"$(" + listing(values) + ")\"}}";
  return out + "(" + without_colons(values) + ")";
}

std::string zsh_option(const Option& option) {
  const bool required = option.argument == ArgumentKind::kRequired;
  const bool optional = option.argument == ArgumentKind::kOptional;
  std::string rest = "[" + zsh_help(option.help) + "]";
  if (required || optional) rest += (optional ? ":" : "") + zsh_argument(option.argument_name, option.values);
  std::string out;
  if (!option.name.empty()) {
    const std::string name = "--" + std::string(option.name) + (required ? "=" : optional ? "=-" : "");
    out += "    " + text::shell_quoted(name + rest) + " \\\n";
  }
  if (option.letter != '\0') {
    const std::string letter = std::string("-") + option.letter + (required ? "+" : optional ? "-" : "");
    out += "    " + text::shell_quoted(letter + rest) + " \\\n";
  }
  return out;
}

// The command that others are below: the first word, then theirs.
std::string zsh_above(std::span<const Command> commands) {
  return "_minke_above() {\n"
         "  if (( CURRENT == 2 )); then compadd -- " +
         names_below(commands) +
         "; return; fi\n"
         "  local command=${words[2]}\n"
         "  shift words; (( CURRENT-- ))\n"
         "  if (( $+functions[_minke_below_$command] )); then _minke_below_$command\n"
         "  elif (( $+functions[_minke_$command] )); then _minke_$command\n"
         "  else _files; fi\n"
         "}\ncompdef _minke_above " +
         std::string(kAbove) + "\n";
}

std::string zsh_script(std::span<const Command> commands) {
  std::string names, functions;
  for (const Command& command : commands) {
    const bool is_below = !below(command).empty();
    const std::string name(is_below ? below(command) : command.name);
    const std::string function = (is_below ? "_minke_below_" : "_minke_") + name;
    if (!is_below) names += " " + name;
    functions += function + "() {\n  _arguments -S -s \\\n";
    for (const Option& option : command.options)
      if (is_offered(option)) functions += zsh_option(option);
    functions += "    " +
                 text::shell_quoted(
                     "*" + zsh_argument(takes_files(command) ? "file" : "operand", command.operand_values)) +
                 "\n}\n" + (is_below ? "" : "compdef " + function + " " + name + "\n");
  }
  if (has_commands_below(commands)) {
    names.append(" ").append(kAbove);
    functions += zsh_above(commands);
  }
  return "#compdef" + names + "\n# zsh completion: source <(minke completion zsh)\n" + functions;
}

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out.append(1, '\'');
}

// " -a …": the values on offer.
std::string fish_values(std::string_view values) {
  if (values.empty() || values == kFiles) return "";
  if (values == kDirectories) return " -a '(__fish_complete_directories)'";
  if (values.starts_with('$')) return " -a " + fish_quoted("(" + listing(values) + ")");
  return " -a " + fish_quoted(values);
}

std::string fish_script(std::span<const Command> commands) {
  std::string out = "# fish completion: minke completion fish | source\n";
  if (has_commands_below(commands))
    out += "complete -c " + std::string(kAbove) + " -n __fish_use_subcommand -f -a " +
           fish_quoted(names_below(commands)) + "\n";
  for (const Command& command : commands) {
    const std::string start = below(command).empty() ? "complete -c " + std::string(command.name)
                                                     : "complete -c " + std::string(kAbove) +
                                                           " -n '__fish_seen_subcommand_from " +
                                                           std::string(below(command)) + "'";
    if (!takes_files(command)) out += start + " -f" + fish_values(command.operand_values) + "\n";
    for (const Option& option : command.options) {
      if (!is_offered(option)) continue;
      out += start;
      if (!option.name.empty()) out.append(" -l ").append(option.name);
      if (option.letter != '\0') out.append(" -s ").append(1, option.letter);
      if (option.argument == ArgumentKind::kRequired) out += option.values == kFiles ? " -r -F" : " -x";
      out += fish_values(option.values) + " -d " + fish_quoted(option.help) + "\n";
    }
  }
  return out;
}

}  // namespace

std::optional<Shell> shell_of(std::string_view name) {
  if (name == "bash") return Shell::kBash;
  if (name == "zsh") return Shell::kZsh;
  if (name == "fish") return Shell::kFish;
  return std::nullopt;
}

std::string completion_script(Shell shell, std::span<const Command> commands) {
  switch (shell) {
    case Shell::kBash:
      return bash_script(commands);
    case Shell::kZsh:
      return zsh_script(commands);
    case Shell::kFish:
      return fish_script(commands);
  }
  return {};
}

std::string matching_options(std::span<const Option> options, std::string_view begun) {
  std::string out;
  const bool letters = begun.starts_with('-') && !begun.starts_with("--");
  const std::string_view name = letters ? begun.substr(1) : begun.substr(begun.starts_with("--") ? 2 : 0);
  for (const Option& option : options) {
    if (begun.empty() || (letters ? option.letter == '\0' : option.name.empty())) continue;
    if (letters) {
      if (name.empty() || name == std::string_view(&option.letter, 1))
        out.append("-").append(1, option.letter).append("\n");
    } else if (option.name.starts_with(name)) {
      const std::string shown = "--" + std::string(option.name);
      out += shown + (option.argument == ArgumentKind::kNone ? "\n" : "=\n");
      if (option.argument == ArgumentKind::kOptional) out += shown + " \n";
    }
  }
  return out.empty() ? out : out + "\n";
}

}  // namespace minke::options
