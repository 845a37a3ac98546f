#include "submit/advice.h"

#include <algorithm>
#include <array>
#include <vector>

#include "submit/option_table.h"
#include "submit/script.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/translate.h"

namespace minke::submit {

using text::marked;
using text::tr;

namespace {

// An option as it was given: where, and with which value.
struct Place {
  std::string where;  // "job.sh line 3: #SBATCH --time=24h"; empty: on the command line
  std::string value;
};

std::string quoted_between(std::string_view text, std::string_view before, char after) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + before.size());
  return std::string(rest.substr(0, rest.find(after)));
}

// The word with which refusals of Slurm's controller name an option.
struct ControllerWords {
  std::string_view words, option;
};
constexpr ControllerWords kControllerWords[] = {
    {"Invalid job array specification", "array"},
    {"Job dependency problem", "dependency"},
    {"Invalid partition name", "partition"},
    {"Invalid account", "account"},
    {"Invalid qos", "qos"},
    {"Invalid feature specification", "constraint"},
    {"Invalid node name specified", "nodelist"},
    {"Invalid node list specified", "nodelist"},
    {"Invalid license specification", "licenses"},
    {"Requested reservation is invalid", "reservation"},
    {"Requested time limit is invalid", "time"},
    {"is not a valid node count", "nodes"},
    {"Maximum node count", "nodes"},
    {"invalid --profile", "profile"},
    {"Bad rlimit name", "propagate"},
};

// The long name of the option that a refusal is about; empty: it names none.
std::string option_of(std::string_view refusal) {
  for (const std::string_view before : {"Invalid --", "for --", "(--", "unrecognized --"}) {
    const std::string found = quoted_between(refusal, before, ' ');
    const std::string name = found.substr(0, found.find_first_of("=.:)\n"));
    if (!name.empty()) return name;
  }
  for (const ControllerWords& known : kControllerWords)
    if (refusal.find(known.words) != std::string_view::npos) return std::string(known.option);
  return "";
}

const Option* find_option(const std::string& name, Command command) {
  for (const Option& option : all_options())
    if (option.name == name && option.belongs_to(command)) return &option;
  return nullptr;
}

// The value of the option in these words, if it is there: --name=value, --name value, -lvalue, -l value.
std::optional<std::string> value_in(const std::vector<std::string>& words, const Option& option) {
  const std::string name = "--" + std::string(option.name), letter = std::string("-") + option.letter;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    if (words[i] == name || (option.letter != '\0' && words[i] == letter))
      return option.argument == options::ArgumentKind::kRequired ? next : "";
    if (words[i].starts_with(name + "=")) return words[i].substr(name.size() + 1);
    if (option.letter != '\0' && words[i].starts_with(letter) && !words[i].starts_with("--"))
      return words[i].substr(2);
  }
  return std::nullopt;
}

std::string script_name(const ScriptFile& script) {
  return script.path.empty() ? tr("the script") : script.path.substr(script.path.rfind('/') + 1);
}

std::string_view line_of(std::string_view script, uint32_t number) {
  for (; number > 1; --number) script.remove_prefix(std::min(script.size(), script.find('\n') + 1));
  return script.substr(0, script.find('\n'));
}

// Where a word stands among the script's #SBATCH lines.
std::string place_of_word(const ScriptFile& script, std::string_view word) {
  const auto scanned = scan_script(script.content, script_name(script));
  if (!scanned) return "";
  for (const auto& component : scanned->components)
    for (const Directive& directive : component)
      if (directive.argument == word)
        return script_name(script) + tr(" line ") + std::to_string(directive.line);
  return "";
}

std::optional<Place> place_of(const Invocation& invocation, const std::optional<ScriptFile>& script,
                              const Option& option) {
  if (const auto value = value_in(invocation.arguments, option)) return Place{"", *value};
  for (const std::string& variable : input_variables(option, invocation.command))
    if (const auto value = invocation.variable(variable)) return Place{"$" + variable, std::string(*value)};
  if (!script) return std::nullopt;
  const auto scanned = scan_script(script->content, script_name(*script));
  if (!scanned) return std::nullopt;
  std::optional<Place> found;
  for (const auto& component : scanned->components) {
    for (size_t i = 0; i < component.size(); ++i) {
      std::vector<std::string> words = {component[i].argument};
      if (i + 1 < component.size() && component[i + 1].line == component[i].line)
        words.push_back(component[i + 1].argument);
      if (const auto value = value_in(words, option))
        found = Place{script_name(*script) + tr(" line ") + std::to_string(component[i].line) + tr(": ") +
                          text::printable(text::trim(line_of(script->content, component[i].line))),
                      *value};
    }
  }
  return found;
}

// "24h" as Slurm writes it; empty: it is not a number with a unit.
std::string time_in_slurms_words(std::string value) {
  std::erase(value, ' ');
  const size_t digits = value.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string::npos || digits > 6) return "";
  const std::string number = value.substr(0, digits), unit = text::lower_case(value.substr(digits));
  if (unit.starts_with("h")) return number + ":00:00";
  if (unit.starts_with("d")) return number + "-0";
  if (unit.starts_with("m")) return number;
  if (unit.starts_with("s")) return "0:" + number;
  if (unit.starts_with("w")) return std::to_string(7 * *text::parse_unsigned(number)) + "-0";
  return "";
}

std::string advice_on_time(const std::string& value) {
  const std::string meant = time_in_slurms_words(value);
  if (meant.empty()) return tr("write 90 (minutes), 24:00:00 or 1-0 (a day)");
  return tr("write {}, 90 (minutes), 24:00:00 or 1-0 (a day)", {meant});
}

constexpr std::string_view kLargestIndex =
    marked("the largest index is MaxArraySize of scontrol show config, less one");

std::string advice_on_array(const std::string& value) {
  const std::string list = value.substr(0, value.find('%'));
  for (const std::string_view range : text::split(list, ',')) {
    const size_t dash = range.find('-');
    const auto single = text::parse_unsigned(range);
    if (single && *single > 4000000) return tr(kLargestIndex);
    if (dash == std::string_view::npos) continue;
    const auto first = text::parse_unsigned(range.substr(0, dash));
    const auto last = text::parse_unsigned(range.substr(dash + 1, range.find(':') - dash - 1));
    if (first && last && *first > *last)
      return tr("{} runs backwards: {}", {range, std::to_string(*last) + "-" + std::to_string(*first)});
    if (first && last && *last > 4000000) return tr(kLargestIndex);
  }
  return tr("write 0-9, 1,3,5, 0-20:2, or 0-99%4 for four at a time");
}

std::string advice_on_memory(const std::string& value) {
  if (value == "=") return tr("no blanks around the =: {}", {"--mem=4G"});
  const size_t digits = value.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos ? "" : text::upper_case(value.substr(digits));
  if (digits != 0 && unit.size() > 1 && std::string_view("KMGT").find(unit[0]) != std::string_view::npos)
    return tr("write {}", {value.substr(0, digits) + unit[0]});
  return tr("write 500M, 4G or 1T; a number alone is in MiB");
}

std::string meant_word(const std::string& word, std::initializer_list<std::string_view> known) {
  const std::vector<std::string_view> candidates(known);
  const std::string_view meant = text::nearest(word, candidates);
  return meant.empty() ? "" : tr("did you mean {}? ", {meant});
}

std::string advice_on_dependency(const std::string& value) {
  const std::string kind = value.substr(0, value.find(':'));
  constexpr std::array<std::string_view, 7> kKinds = {
      "after", "afterany", "afterok", "afternotok", "aftercorr", "singleton", "afterburstbuffer"};
  if (std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end() && value.find(':') != std::string::npos)
    return tr("behind the colon stand numbers of jobs: {}", {kind + ":12:13"});
  const std::string_view meant = text::nearest(kind, kKinds);
  return (meant.empty() ? "" : tr("did you mean {}? ", {meant})) + tr("write afterok:12, or afterany:12:13");
}

std::string advice_on_begin(const std::string& value) {
  const std::string meant = meant_word(value, {"now", "today", "tomorrow", "midnight", "noon", "teatime"});
  return meant + tr("write 21:00, tomorrow, now+2hours, or 2026-12-01T08:00");
}

std::string advice_on_mail_type(const std::string& value) {
  std::string meant;
  for (const std::string_view one : text::split(value, ','))
    if (meant.empty() && one.size() > 1)
      meant = meant_word(text::upper_case(one),
                         {"NONE", "BEGIN", "END", "FAIL", "REQUEUE", "ALL", "TIME_LIMIT", "TIME_LIMIT_90",
                          "TIME_LIMIT_80", "TIME_LIMIT_50", "ARRAY_TASKS", "INVALID_DEPEND", "STAGE_OUT"});
  return meant + tr("write BEGIN, END, FAIL, TIME_LIMIT_80, ALL, or several with commas");
}

struct FixedAdvice {
  std::string_view option, advice;
};
constexpr FixedAdvice kFixed[] = {
    {"signal",
     marked(
         "write USR1@300: the signal, and how many seconds before the time limit; B:USR1@300 for the script "
         "itself")},
    {"open-mode", marked("write append or truncate")},
    {"exclusive", marked("write --exclusive alone, --exclusive=user or --exclusive=mcs")},
    {"nodes", marked("write 2, or 2-4")},
    {"tmp", marked("write 500M, 4G or 1T; a number alone is in MiB")},
    {"kill-on-invalid-dep", marked("write yes or no")},
    {"propagate", marked("write ALL, NONE, or limits such as NOFILE,STACK")},
    {"profile", marked("write none; minke top and seff tell what a job used")},
    {"gpus-per-node", marked("write 1, or a100:2")},
    {"gpus-per-task", marked("write 1, or a100:2")},
    {"gpus-per-socket", marked("write 1, or a100:2")},
    {"gres", marked("write gpu:1, or gpu:a100:2")},
    {"gpus", marked("write 1, or a100:2")},
    {"distribution", marked("write block, cyclic, plane=4, or block:cyclic")},
    {"hint", marked("write compute_bound, memory_bound, multithread or nomultithread")},
    {"account", marked("sacctmgr show assoc user=$USER format=account lists yours")},
    {"partition", marked("sinfo lists them")},
    {"qos", marked("sacctmgr show qos format=name lists them")},
    {"constraint", marked("sinfo -o '%n %f' lists nodes and features")},
    {"nodelist", marked("write n1,n2 or n[1-3]; sinfo -N lists them")},
    {"requeue", marked("write --requeue alone")},
    {"licenses", marked("scontrol show licenses lists them")},
    {"reservation", marked("scontrol show reservation lists them")},
};

// What to write in place of the value.
std::string advice_on(const std::string& option, const std::string& value, std::string_view refusal) {
  if (option == "time" || option == "time-min") return advice_on_time(value);
  if (option == "array") return advice_on_array(value);
  if (option.starts_with("mem") && option != "mem-bind") return advice_on_memory(value);
  if (option == "dependency") return advice_on_dependency(value);
  if (option == "begin" || option == "deadline") return advice_on_begin(value);
  if (option == "mail-type") return advice_on_mail_type(value);
  if (refusal.find("Invalid numeric value") != std::string_view::npos)
    return tr("write a whole number, 1 or more");
  for (const FixedAdvice& known : kFixed)
    if (known.option == option) return tr(known.advice);
  return "";
}

// Other schedulers' and people's words for options.
struct OtherName {
  std::string_view word, option;
};
constexpr OtherName kOtherNames[] = {
    {"walltime", "time"},
    {"timelimit", "time"},
    {"time-limit", "time"},
    {"queue", "partition"},
    {"name", "job-name"},
    {"memory", "mem"},
    {"ram", "mem"},
    {"cpu", "cpus-per-task"},
    {"cpus", "cpus-per-task"},
    {"threads", "cpus-per-task"},
    {"gpu", "gpus"},
    {"tasks", "ntasks"},
    {"email", "mail-user"},
    {"notify", "mail-type"},
    {"stdout", "output"},
    {"stderr", "error"},
    {"cwd", "chdir"},
    {"workdir", "chdir"},
    {"env", "export"},
    {"after", "dependency=afterok:JOB"},
    {"depends-on", "dependency=afterok:JOB"},
    {"depends", "dependency=afterok:JOB"},
    {"label", "job-name"},
    {"stashed", "hold"},
    {"group", "partition"},
    {"max-concurrent", "array=0-9%2"},
    {"parallel", "array=0-9%2"},
    {"conda-env", "export=ALL, after conda activate in this shell or in the script"},
    {"working-directory", "chdir"},
    {"webhook", "mail-user=NAME@webhook"},
    {"notify-command", "mail-user=NAME@command"},
    {"project", "account"},
    {"node", "nodes"},
    {"feature", "constraint"},
    {"concurrency", "array=0-9%2"},
};

// Which of the other commands has the option; empty: none.
std::string sister_with(const std::string& name, Command command) {
  for (const Option& option : all_options()) {
    if (option.name != name || option.belongs_to(command)) continue;
    for (const Command other : {Command::kSrun, Command::kSbatch, Command::kSalloc})
      if (option.belongs_to(other)) return std::string(command_name(other));
  }
  return "";
}

// For "unrecognized option '--tme=5'" and "option '--gpu=1' is ambiguous".
std::string advice_on_name(const Invocation& invocation, const std::optional<ScriptFile>& script,
                           const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  name.erase(0, name.find_first_not_of('-'));
  std::string meant;
  for (const OtherName& other : kOtherNames)
    if (other.word == text::lower_case(name)) meant = other.option;
  const bool is_known =
      !meant.empty();  // else it merely looks alike: --cpu-bind is srun's, and not --gpu-bind
  if (!is_known) {
    std::vector<std::string_view> names;
    for (const Option& option : all_options())
      if (option.belongs_to(invocation.command)) names.push_back(option.name);
    meant = text::nearest(name, names);
  }
  const std::string where = script ? place_of_word(*script, word) : "";
  std::string what = meant.empty() ? "" : tr("did you mean --{}?", {meant});
  if (const std::string sister = sister_with(name, invocation.command); !sister.empty())
    what = tr("it is an option of {}", {sister}) + (is_known ? "; " + what : "");
  return where + (where.empty() || what.empty() ? "" : ": ") + what;
}

bool is_program(std::string_view content) {
  return content.starts_with(
      "\x7f"
      "ELF");
}

// Letters of qsub's and bsub's options that sbatch has not.
std::string advice_on_letter(std::string_view refusal) {
  const std::string letter = quoted_between(refusal, "invalid option -- '", '\'');
  if (letter == "l") return tr("PBS's -l walltime=1:00:00,mem=4gb is {}", {"--time=1:00:00 --mem=4G"});
  if (letter == "P") return tr("did you mean --{}?", {"account"});
  if (letter == "R" || letter == "M") return tr("did you mean --{}?", {"mem"});
  return "";
}

// What keeps "#!" from being the first thing in a script: a mark of bytes' order, an empty line, a comment.
std::string advice_on_first_line(std::string_view content, const std::string& name) {
  if (content.starts_with("\xef\xbb\xbf#!"))
    return tr("an invisible mark stands in front of #!: {} takes it away",
              {"sed -i '1s/^\\xef\\xbb\\xbf//' " + name});
  size_t number = 0;
  for (const std::string_view line : text::split(content, '\n')) {
    ++number;
    if (line.starts_with("#!") && number > 1)
      return tr("{} has it in line {}: it must be the very first", {name, std::to_string(number)});
    if (number == 10) break;
  }
  return "";
}

// The program's words, for sbatch --wrap: what follows the script's name on the command line.
std::string words_from(const Invocation& invocation, const ScriptFile& script) {
  const auto is_script = [&](const std::string& word) {
    return word.substr(word.rfind('/') + 1) == script_name(script);
  };
  auto at = std::find_if(invocation.arguments.begin(), invocation.arguments.end(), is_script);
  if (at == invocation.arguments.end() || at + 1 == invocation.arguments.end()) return script.path;
  std::string words = *at;
  while (++at != invocation.arguments.end()) words += " " + *at;
  return "'" + words + "'";
}

std::string advice_on_script(const Invocation& invocation, const std::optional<ScriptFile>& script,
                             std::string_view refusal) {
  if (!script) return "";
  if (refusal.find("Batch script is empty") != std::string_view::npos && script->path.empty()) {
    const bool has_words = !invocation.arguments.empty();
    return tr("no script is named, so standard input was read: {}", {"sbatch job.sh"}) +
           (has_words ? tr("; a value without its option took \"{}\" away",
                           {text::printable(invocation.arguments.back())})
                      : "");
  }
  const std::string name = text::printable(script_name(*script));
  if (refusal.find("Batch script is empty") != std::string_view::npos)
    return tr("{} has nothing in it; a script begins with #!/bin/bash", {name});
  if (refusal.find("does not look like a batch script") != std::string_view::npos) {
    if (is_program(script->content))
      return tr("{} is a program: {}",
                {name, "sbatch --wrap " + text::printable(words_from(invocation, *script))});
    if (script->path.ends_with(".py"))
      return tr("sbatch --wrap 'python3 {}', or write #!/usr/bin/env python3 as its first line", {name});
    if (script->path.ends_with(".ipynb"))
      return tr("{} is a notebook: {}",
                {name, "sbatch --wrap 'jupyter nbconvert --to notebook --execute " + name + "'"});
    if (std::string found = advice_on_first_line(script->content, name); !found.empty()) return found;
    return tr("write #!/bin/bash as the first line of {}", {name});
  }
  if (refusal.find("DOS line breaks") != std::string_view::npos)
    return tr("{} mends it", {"sed -i 's/\\r$//' " + name});
  if (const std::string word = quoted_between(refusal, "Invalid directive found in batch script: ", '\n');
      !word.empty()) {
    const std::string where = place_of_word(*script, word);
    if (refusal.find("\xe2\x80\x9c") != std::string_view::npos ||
        refusal.find("\xe2\x80\x9d") != std::string_view::npos)
      return (where.empty() ? "" : where + ": ") +
             tr("the quotes of a word processor are none: type them anew, {}", {"--job-name=\"my job\""});
    return (where.empty() ? "" : where + ": ") +
           tr("options begin with --, and a value with a blank needs quotes: {}", {"--job-name=\"my job\""});
  }
  return "";
}

// Which of the options that ask for generic resources was given.
std::string given_gres_option(const Invocation& invocation, const std::optional<ScriptFile>& script) {
  for (const std::string_view name : {"gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres"}) {
    const Option* option = find_option(std::string(name), invocation.command);
    if (option != nullptr && place_of(invocation, script, *option)) return std::string(name);
  }
  return "";
}

// The mistake of one dash: "-time=5" is -t with the value "ime=5".
std::string advice_on_dash(const Invocation& invocation, const Option& option, const std::string& value) {
  const std::string word = std::string(1, option.letter) + value.substr(0, value.find('='));
  if (option.letter == '\0' || !find_option(word, invocation.command)) return "";
  return tr("a long option needs two dashes: {}", {"--" + word + "=…"});
}

}  // namespace

std::string advice(const Invocation& invocation, const std::optional<ScriptFile>& script,
                   std::string_view refusal) {
  for (const std::string_view before : {"unrecognized option '", "option '--"}) {
    const std::string word = quoted_between(refusal, before, '\'');
    const bool is_name = before.starts_with('u') || refusal.find("is ambiguous") != std::string_view::npos;
    if (!word.empty() && is_name)
      return advice_on_name(invocation, script, before.ends_with("--") ? "--" + word : word);
  }
  if (std::string found = advice_on_script(invocation, script, refusal); !found.empty()) return found;
  if (std::string found = advice_on_letter(refusal); !found.empty()) return found;
  if (refusal.find("did not request any GPU") != std::string_view::npos)
    return tr("ask for GPUs, too: {}", {"--gpus=1"});
  if (refusal.find("used without either --gpus or -n/--ntasks") != std::string_view::npos)
    return tr("say how many tasks there are, or GPUs: {}", {"--ntasks=1"});
  if (refusal.find("Unexpected `:`") != std::string_view::npos)
    return tr("no colon stands behind #SBATCH: {}", {"#SBATCH --time=5"});
  if (refusal.find("are mutually exclusive") != std::string_view::npos &&
      refusal.find("--mem-per-cpu") != std::string_view::npos)
    return tr(
        "--mem is for each node, --mem-per-cpu for each CPU, --mem-per-gpu for each GPU: keep one of them");
  if (refusal.find("Script arguments not permitted with --wrap") != std::string_view::npos)
    return tr("--wrap has the whole command: leave the script out, or --wrap");
  if (refusal.find("No command given to execute") != std::string_view::npos)
    return tr("name a program: srun hostname, or srun --pty bash for a shell");
  std::string name = option_of(refusal);
  const bool is_of_resources = refusal.find("Invalid generic resource") != std::string_view::npos ||
                               refusal.find("Invalid Trackable RESource") != std::string_view::npos;
  if (name.empty() && is_of_resources) name = given_gres_option(invocation, script);
  const Option* option = find_option(name, invocation.command);
  if (option == nullptr) return "";
  const auto place = place_of(invocation, script, *option);
  if (!place) return "";  // it is about something else that nobody asked for
  const std::string& value = place->value;
  std::string what = advice_on_dash(invocation, *option, value);
  if (what.empty()) what = advice_on(name, value, refusal);
  const std::string& where = place->where;
  return where + (where.empty() || what.empty() ? "" : "; ") + what;
}

Refusal with_advice(const Invocation& invocation, const std::optional<ScriptFile>& script, Refusal refusal) {
  if (refusal.is_help) return refusal;
  std::string words = advice(invocation, script, refusal.text);
  if (words.empty()) return refusal;
  // The last line that the command says itself: what follows is the hint at --help.
  const std::string own = std::string(command_name(invocation.command)) + ": ";
  size_t begin = 0, end = std::string::npos;
  for (size_t at = 0; at < refusal.text.size();) {
    const size_t stop = std::min(refusal.text.find('\n', at), refusal.text.size());
    if (std::string_view(refusal.text).substr(at).starts_with(own)) begin = at, end = stop;
    at = stop + 1;
  }
  if (end == std::string::npos) return refusal;
  const bool is_explained =
      refusal.text[end - 1] == ')' && end > begin && refusal.text.find(" (", begin) < end;
  if (is_explained) {
    const std::string where = words.substr(0, words.find("; "));
    if (where.find(tr(" line ")) == std::string::npos) return refusal;
    refusal.text.insert(end - 1, "; " + where);
  } else {
    refusal.text.insert(end, " (" + words + ")");
  }
  return refusal;
}

std::string plain_refusal(const Invocation& invocation, const std::optional<ScriptFile>& script,
                          const Refusal& refusal) {
  const std::string own = std::string(command_name(invocation.command)) + ": ";
  const std::string text = with_advice(invocation, script, refusal).text;
  std::string plain;
  for (std::string_view line : text::split(text, '\n')) {
    if (!line.starts_with(own)) continue;  // the hint at --help
    line.remove_prefix(own.size());
    if (line.starts_with("error: ")) line.remove_prefix(7);
    plain += (plain.empty() ? "" : "; ") + std::string(line);
  }
  return plain.empty() ? std::string(text::trim(text)) : plain;
}

}  // namespace minke::submit
