#include "cli/wrong_words.h"

#include <regex>
#include <string_view>
#include <vector>

#include "text/nearest.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::cli {
namespace {

std::string meant_by(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string_view meant = text::nearest(word, candidates);
  return meant.empty() ? "" : "; did you mean " + std::string(meant) + "?";
}

std::vector<std::string> commands_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    names.push_back(sub->get_name());
  return names;
}

// "a, b or c"
std::string one_of(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

// For a word that is no option, or no command; empty: nothing comes near.
std::string suggestion(const CLI::App& app, const std::string& word) {
  const std::string bare = word.substr(0, word.find('='));
  if (!bare.starts_with("--")) return meant_by(bare, commands_below(app));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      if (name != "help" || bare.starts_with("--he")) known.push_back("--" + name);
  return meant_by(bare, known);
}

// What people ask of a command that another one answers.
struct ElsewhereAnswered {
  std::string_view command, word, instead;
};
constexpr ElsewhereAnswered kElsewhere[] = {
    {"jobs", "--user", "squeue --user=NAME lists another's"},
    {"jobs", "-u", "squeue --user=NAME lists another's"},
    {"jobs", "--all", "squeue lists everybody's"},
    {"jobs", "-a", "squeue lists everybody's"},
    {"jobs", "--state", "squeue --states=RUNNING, or sacct --state=FAILED for ended ones"},
    {"jobs", "-t", "squeue --states=RUNNING, or sacct --state=FAILED for ended ones"},
    {"jobs", "--partition", "squeue --me --partition=NAME"},
    {"jobs", "-p", "squeue --me --partition=NAME"},
    {"jobs", "--format", "squeue --me --format=…, or sacct --format=… for ended ones"},
    {"jobs", "-o", "squeue --me --format=…, or sacct --format=… for ended ones"},
    {"log", "--tail", "--lines=20 for the last 20"},
    {"tail", "--tail", "--lines=20 for the last 20"},
    {"tail", "--stderr", "--error for what goes to the error stream"},
    {"tail", "--stdout", "without an option it is the output"},
    {"top", "--interval", "--delay=2 looks every two seconds"},
    {"top", "-i", "--delay=2 looks every two seconds"},
    {"top", "-n", "--delay=2 looks every two seconds"},
    {"top", "-1", "--once prints it once"},
    {"top", "--user", "squeue --user=NAME lists another's jobs; --jobs=12 shows some alone"},
    {"top", "-u", "squeue --user=NAME lists another's jobs; --jobs=12 shows some alone"},
    {"top", "-m", "it fits the terminal by itself"},
    {"env", "--shell", "the lines are for sh, bash and zsh"},
    {"up", "--port", "minke portal --port=NUMBER has the cluster in a browser"},
    {"down", "--force", "minke down --cancel-jobs ends running jobs first"},
    {"down", "-f", "minke down --cancel-jobs ends running jobs first"},
    {"down", "--now", "minke down --cancel-jobs ends running jobs first"},
    {"redo", "--all", "minke redo --failed ARRAY submits the tasks that did not complete"},
    {"wait", "--all", "name the jobs: minke wait 12 13"},
    {"wait", "--timeout", "timeout 10m minke wait JOB"},
};

std::string answered_elsewhere(const CLI::App& app, std::string_view word) {
  for (const ElsewhereAnswered& one : kElsewhere)
    if (one.command == app.get_name() && one.word == word.substr(0, word.find('=')))
      return std::string(one.instead);
  const bool is_number = !word.empty() && word.find_first_not_of("0123456789_") == std::string_view::npos;
  if (is_number && app.get_name() == "jobs") return "of one job tell minke why and scontrol show job";
  if (is_number && app.get_name() == "log") return "what a job writes shows minke tail JOB";
  if (is_number && app.get_name() == "top") return "of some jobs alone: minke top --jobs=12";
  if (is_number && (app.get_name() == "down" || app.get_name() == "up"))
    return "it is about the whole cluster; scancel JOB ends a job, minke redo JOB submits it again";
  return "";
}

bool takes_words(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) return true;
  return false;
}

std::string strange_word(const CLI::App& app, const std::string& word) {
  const std::string shown = text::printable(word);
  const std::string elsewhere = answered_elsewhere(app, word);
  if (word.starts_with('-'))
    return "there is no option " + shown + (elsewhere.empty() ? suggestion(app, word) : ": " + elsewhere);
  if (const std::string meant = suggestion(app, word); !meant.empty())
    return "there is no " + shown + " here" + meant;
  if (const auto below = commands_below(app); !below.empty())
    return "there is no " + shown + " here; write " + one_of(below);
  return "\"" + shown + "\" is one word too many" +
         (!elsewhere.empty()  ? ": " + elsewhere
          : !takes_words(app) ? ": only options stand here"
                              : "");
}

using Match = std::smatch;

std::string out_of_range(const Match& found) {
  return found[1].str() + ": write a number from " + found[3].str() + " to " + found[4].str() + ", not " +
         found[2].str();
}

std::string out_of_set(const Match& found) {
  std::vector<std::string> words;
  const std::string list = found[3].str();
  for (const std::string_view word : text::split(list, ',')) words.emplace_back(word);
  return found[1].str() + ": write " + one_of(words) + ", not " + found[2].str() +
         meant_by(found[2].str(), words);
}

std::string no_number(const Match& found) {
  return found[1].str() + ": \"" + found[2].str() + "\" is no number";
}

std::string no_value(const Match& found) {
  return found[1].str() + " needs a value";
}

std::string too_few(const Match& found) {
  return found[1].str() + ": " + found[2].str() + " are needed, there is " + found[3].str();
}

// How CLI11 (2.x) writes it, and how we do.
struct Wording {
  const char* pattern;
  std::string (*in_words)(const Match&);
};
constexpr Wording kWordings[] = {
    {R"((.*?): Value (.*) not in range (\S+) to (\S+))", out_of_range},
    {R"((.*?): (.*) not in \{(.*)\})", out_of_set},
    {R"(Could not convert: (.*?) = (.*))", no_number},
    {R"((.*?): \d+ required .* missing)", no_value},
    {R"((.*?): At least (\d+) required but received (\d+))", too_few},
};

bool is(const CLI::ParseError& error, CLI::ExitCodes kind) {
  return error.get_exit_code() == static_cast<int>(kind);
}

}  // namespace

bool lacks_words(const CLI::ParseError& error) {
  return is(error, CLI::ExitCodes::RequiredError) || is(error, CLI::ExitCodes::ArgumentMismatch);
}

std::string wrong_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining(true);
  // An error's name may be its command's: its number tells what it is. A wrong word may be why another lacks.
  if (is(error, CLI::ExitCodes::ExtrasError) || (is(error, CLI::ExitCodes::RequiredError) && !rest.empty()))
    return strange_word(app, rest.empty() ? "" : rest.front());
  const std::string message = text::printable(error.what());
  if (message == "A subcommand is required") return "what is to be done? " + one_of(commands_below(app));
  constexpr size_t kLongest = 2000;  // what std::regex takes without a deep recursion
  if (message.size() > kLongest) return message.substr(0, kLongest) + "…";
  for (const Wording& wording : kWordings) {
    Match found;
    if (std::regex_match(message, found, std::regex(wording.pattern))) return wording.in_words(found);
  }
  return message;
}

}  // namespace minke::cli
