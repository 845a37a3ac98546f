#include "submit/help.h"

#include <set>
#include <vector>

#include "options/examples.h"
#include "submit/option_table.h"

namespace minke::submit {
namespace {

constexpr size_t kHelpColumn = 32;
constexpr size_t kUsageWidth = 80;

std::string_view what_follows(Command command) {
  switch (command) {
    case Command::kSbatch:
      return "executable [args...]";
    case Command::kSalloc:
      return "[command [args...]]";
    case Command::kSrun:
      return "executable [args...]";
  }
  return "";
}

std::string_view purpose(Command command) {
  switch (command) {
    case Command::kSbatch:
      return "submit a batch script";
    case Command::kSalloc:
      return "allocate resources and run a command on them";
    case Command::kSrun:
      return "run tasks, within an allocation or in one of their own";
  }
  return "";
}

// "--time=limit", "--nice[=value]"
std::string long_form(const Option& option) {
  std::string out = "--" + std::string(option.name);
  if (option.argument == ArgumentKind::kNone) return out;
  std::string argument = option.argument_name.empty() ? "value" : std::string(option.argument_name);
  bool optional = option.argument == ArgumentKind::kOptional;
  out += optional ? "[=" : "=";
  out += argument;
  if (optional) out += ']';
  return out;
}

void append_help_line(std::string& out, const Option& option) {
  std::string left = option.letter != '\0' ? std::string("  -") + option.letter + ", " : "      ";
  left += long_form(option);
  if (left.size() + 1 < kHelpColumn) {
    left.resize(kHelpColumn, ' ');
  } else {
    left += "\n" + std::string(kHelpColumn, ' ');
  }
  out.append(left).append(option.help).append("\n");
}

// Slurm's headings, for the options that it lists under them; all other options come first.
struct Heading {
  std::string_view title;
  std::set<std::string_view> options;
};

const std::vector<Heading>& headings() {
  static const auto* const kHeadings = new std::vector<Heading>{
      {"Constraint options:",
       {"cluster-constraint", "constraint", "contiguous", "core-spec", "exclude", "mem", "mincpus",
        "nodefile", "nodelist", "prefer", "reservation", "thread-spec", "tmp", "use-min-nodes"}},
      {"Consumable resources related options:", {"exclusive", "mem-per-cpu", "resv-ports"}},
      {"Affinity/Multi-core options (when the task/affinity plugin is enabled):",
       {"cores-per-socket", "cpu-bind", "extra-node-info", "hint", "mem-bind", "ntasks-per-core",
        "ntasks-per-socket", "sockets-per-node", "threads-per-core"}},
      {"GPU scheduling options:",
       {"cpus-per-gpu", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task",
        "mem-per-gpu", "ntasks-per-gpu"}},
      {"Help options:", {"help", "usage", "version"}}};
  return *kHeadings;
}

std::string_view heading_of(const Option& option) {
  for (const Heading& heading : headings())
    if (heading.options.contains(option.name)) return heading.title;
  return "";
}

void append_section(std::string& out, Command command, Disposition disposition, std::string_view heading,
                    std::string_view title) {
  std::string section;
  for (const Option& option : all_options()) {
    if (option.belongs_to(command) && option.disposition == disposition &&
        (disposition != Disposition::kHonoured || heading_of(option) == heading))
      append_help_line(section, option);
  }
  if (!section.empty()) out.append("\n").append(title).append("\n").append(section);
}

// In roff, a hyphen to type and a backslash need a backslash in front; a line must not begin with a dot.
std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '-' || c == '\\') out += '\\';
    if ((c == '.' || c == '\'') && out.empty()) out += "\\&";
    out += c;
  }
  return out;
}

}  // namespace

std::string help_text(Command command) {
  std::string name(command_name(command));
  std::string out = "Usage: " + name + " [OPTIONS...] " + std::string(what_follows(command)) + "\n";
  append_section(out, command, Disposition::kHonoured, "", "Parallel run options:");
  for (const Heading& heading : headings())
    append_section(out, command, Disposition::kHonoured, heading.title, heading.title);
  append_section(out, command, Disposition::kAccepted, "",
                 "Accepted, without effect here (the man page says why):");
  append_section(out, command, Disposition::kRefused, "", "Refused (the message says why):");
  return out + "\n" + options::examples_text(name);
}

std::string usage_text(Command command) {
  std::string line = "Usage: " + std::string(command_name(command));
  std::string indent(line.size(), ' ');
  std::string out;
  auto append = [&](const std::string& word) {
    if (line.size() + 1 + word.size() > kUsageWidth) {
      out.append(line).append("\n");
      line = indent;
    }
    line.append(" ").append(word);
  };
  for (const Option& option : all_options()) {
    if (!option.belongs_to(command) || option.disposition != Disposition::kHonoured) continue;
    append(long_form(option).insert(0, 1, '[').append(1, ']'));
  }
  append(std::string(what_follows(command)));
  return out.append(line).append("\n");
}

std::string man_page(Command command) {
  std::string name(command_name(command));
  std::string out = ".TH " + name + " 1\n.SH NAME\n" + name + " \\- " + std::string(purpose(command)) + "\n";
  out +=
      ".SH SYNOPSIS\n.B " + name + "\n[OPTIONS...] " + std::string(what_follows(command)) + "\n.SH OPTIONS\n";
  std::string variables;
  for (const Option& option : all_options()) {
    if (!option.belongs_to(command)) continue;
    out += ".TP\n\\fB";
    if (option.letter != '\0') out += std::string("\\-") + option.letter + "\\fR, \\fB";
    out += roff(long_form(option)) + "\\fR\n" + roff(option.help) + ".\n";
    if (option.disposition == Disposition::kAccepted)
      out += "Accepted, without effect: " + roff(option.reason) + ".\n";
    if (option.disposition == Disposition::kRefused) out += "Refused: " + roff(option.reason) + ".\n";
    for (const std::string& variable : input_variables(option, command)) {
      variables += ".TP\n\\fB" + variable + "\\fR\nSame as \\fB\\-\\-" + roff(option.name) + "\\fR.\n";
    }
  }
  out += ".SH INPUT ENVIRONMENT VARIABLES\nThe command line wins over these";
  if (command == Command::kSbatch) out += ", and these win over the #SBATCH lines of the script";
  return out + ".\n" + variables + options::examples_roff(name);
}

}  // namespace minke::submit
