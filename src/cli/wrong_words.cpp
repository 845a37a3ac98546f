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
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  return meant_by(bare, known);
}

std::string strange_word(const CLI::App& app, const std::string& word) {
  const std::string shown = text::printable(word);
  if (word.starts_with('-')) return "there is no option " + shown + suggestion(app, word);
  if (const std::string meant = suggestion(app, word); !meant.empty())
    return "there is no " + shown + " here" + meant;
  return "\"" + shown + "\" is one word too many";
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
