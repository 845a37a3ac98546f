#include "submit/completion.h"

#include "submit/option_table.h"
#include "text/number.h"
#include "text/shell_quote.h"

namespace minke::submit {
namespace {

constexpr Command kCommands[] = {Command::kSbatch, Command::kSalloc, Command::kSrun};

// What the value of an option can be. A value that begins with "$" is a command that lists them; "FILE" and
// "DIRECTORY" are the shell's own.
struct Values {
  std::string_view option;
  std::string_view words;
};
constexpr Values kValues[] = {
    {"chdir", "DIRECTORY"},
    {"constraint", "$sinfo -h -o %b | tr ',' '\\n' | sort -u"},
    {"dependency", "after: afterany: afternotok: afterok: aftercorr: singleton"},
    {"distribution", "block cyclic plane= arbitrary"},
    {"error", "FILE"},
    {"exclude", "$sinfo -h -N -o %N | sort -u"},
    {"exclusive", "user mcs topo"},
    {"export", "ALL NONE NIL"},
    {"export-file", "FILE"},
    {"gres-flags", "disable-binding enforce-binding"},
    {"hint", "compute_bound memory_bound multithread nomultithread"},
    {"input", "FILE"},
    {"jobid", "$squeue --me -h -t R -o %A"},
    {"kill-on-bad-exit", "0 1"},
    {"kill-on-invalid-dep", "yes no"},
    {"mail-type",
     "NONE BEGIN END FAIL REQUEUE ALL INVALID_DEPEND TIME_LIMIT TIME_LIMIT_90 TIME_LIMIT_80 "
     "TIME_LIMIT_50 ARRAY_TASKS"},
    {"nodefile", "FILE"},
    {"nodelist", "$sinfo -h -N -o %N | sort -u"},
    {"open-mode", "append truncate"},
    {"output", "FILE"},
    {"partition", "$sinfo -h -o %R | sort -u"},
    {"propagate", "ALL NONE AS CORE CPU DATA FSIZE MEMLOCK NOFILE NPROC RSS STACK"},
};

std::string_view values_of(const Option& option) {
  for (const Values& values : kValues)
    if (values.option == option.name) return values.words;
  return {};
}

// What is refused is not offered.
bool is_offered(const Option& option, Command command) {
  return option.belongs_to(command) && option.disposition != Disposition::kRefused;
}

std::string bash_options(Command command) {
  std::string out;
  for (const Option& option : all_options()) {
    if (!is_offered(option, command)) continue;
    out.append(out.empty() ? "--" : " --").append(option.name);
    if (option.argument == ArgumentKind::kRequired) out += '=';
  }
  return out;
}

// The rows of a `case` on the option before the word: its values.
std::string bash_values() {
  std::string out;
  for (const Values& values : kValues) {
    std::string pattern = "--" + std::string(values.option);
    for (const Option& option : all_options()) {
      if (option.name == values.option && option.letter != '\0')
        pattern.append("|-").append(1, option.letter);
    }
    out.append("    ").append(pattern).append(") ");
    if (values.words == "FILE" || values.words == "DIRECTORY") {
      out.append("COMPREPLY=($(compgen -")
          .append(values.words == "FILE" ? "f" : "d")
          .append(" -- \"$word\"))");
    } else if (values.words.starts_with('$')) {
      out.append("COMPREPLY=($(compgen -W \"$(").append(values.words.substr(1));
      out.append(" 2>/dev/null)\" -- \"$word\"))");
    } else {
      out.append("COMPREPLY=($(compgen -W ").append(text::shell_quoted(values.words)).append(" -- \"$word\"))");
    }
    out += "; return ;;\n";
  }
  return out;
}

std::string bash_script() {
  std::string out =
      "# bash completion of sbatch, salloc and srun: eval \"$(minke completion bash)\"\n"
      "_minke_submit() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options\n"
      "  # --name=value is three words where '=' separates words.\n"
      "  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; "
      "fi\n"
      "  case $before in\n" +
      bash_values() + "  esac\n  [[ $word == -* ]] || return\n  case ${COMP_WORDS[0]##*/} in\n";
  for (Command command : kCommands) {
    out.append("    ")
        .append(command_name(command))
        .append(") options=")
        .append(text::shell_quoted(bash_options(command)));
    out += " ;;\n";
  }
  return out +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
         "}\n"
         "complete -o default -F _minke_submit sbatch salloc srun\n"
         "_minke_jobs() {\n"
         "  COMPREPLY=($(compgen -W \"$(squeue --me -h -o %A 2>/dev/null)\" -- "
         "\"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -F _minke_jobs scancel sattach seff\n";
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

std::string zsh_argument(const Option& option) {
  std::string name;
  for (char c : option.argument_name) {
    if (c == ':' || c == '\\') name += '\\';
    name += c;
  }
  std::string out = ":" + name + ":";
  std::string_view values = values_of(option);
  if (values == "FILE") return out + "_files";
  if (values == "DIRECTORY") return out + "_files -/";
  if (values.starts_with('$'))
    return out + "{compadd -- ${(f)\"$(" + std::string(values.substr(1)) + " 2>/dev/null)\"}}";
  if (!values.empty()) {
    out += "(";
    for (char c : values) {
      if (c == ':') out += '\\';
      out += c;
    }
    return out + ")";
  }
  return out + " ";
}

std::string zsh_script() {
  std::string out = "#compdef sbatch salloc srun\n# zsh completion: source <(minke completion zsh)\n";
  for (Command command : kCommands) {
    out.append("_minke_").append(command_name(command)).append("() {\n  _arguments -S -s \\\n");
    for (const Option& option : all_options()) {
      if (!is_offered(option, command)) continue;
      std::string name = "--" + std::string(option.name);
      std::string rest = "[" + zsh_help(option.help) + "]";
      std::string suffix;
      if (option.argument == ArgumentKind::kRequired) suffix = "=";
      if (option.argument == ArgumentKind::kOptional) suffix = "=-";
      if (option.argument != ArgumentKind::kNone)
        rest += (option.argument == ArgumentKind::kOptional ? ":" : "") + zsh_argument(option);
      out.append("    ").append(text::shell_quoted(name + suffix + rest)).append(" \\\n");
      if (option.letter != '\0') {
        const char* sign = option.argument == ArgumentKind::kRequired   ? "+"
                           : option.argument == ArgumentKind::kOptional ? "-"
                                                                        : "";
        out.append("    ").append(text::shell_quoted(std::string("-") + option.letter + sign + rest)).append(" \\\n");
      }
    }
    out += "    '*:file:_files'\n}\n";
    out.append("compdef _minke_").append(command_name(command)).append(" ").append(command_name(command));
    out += "\n";
  }
  return out;
}

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out.append(1, '\'');
}

std::string fish_script() {
  std::string out = "# fish completion: minke completion fish | source\n";
  for (Command command : kCommands) {
    for (const Option& option : all_options()) {
      if (!is_offered(option, command)) continue;
      out.append("complete -c ").append(command_name(command)).append(" -l ").append(option.name);
      if (option.letter != '\0') out.append(" -s ").append(1, option.letter);
      std::string_view values = values_of(option);
      if (option.argument == ArgumentKind::kRequired) {
        out += values == "FILE"        ? " -r -F"
               : values == "DIRECTORY" ? " -x -a '(__fish_complete_directories)'"
                                       : " -x";
      }
      if (values.starts_with('$')) {
        out.append(" -a ").append(fish_quoted("(" + std::string(values.substr(1)) + " 2>/dev/null)"));
      } else if (!values.empty() && values != "FILE" && values != "DIRECTORY") {
        out.append(" -a ").append(fish_quoted(values));
      }
      out.append(" -d ").append(fish_quoted(option.help)).append("\n");
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

std::string completion_script(Shell shell) {
  switch (shell) {
    case Shell::kBash:
      return bash_script();
    case Shell::kZsh:
      return zsh_script();
    case Shell::kFish:
      return fish_script();
  }
  return {};
}

}  // namespace minke::submit
