#include "cli/parse_options.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "options/examples.h"
#include "text/nearest.h"
#include "text/printable.h"
#include "view/colour.h"

namespace minke::cli {
namespace {

AppDescriptions::Take taker;

// Takes --color out of the arguments. Returns what is wrong with its value; empty: nothing.
std::string take_colour(std::vector<std::string>& words) {
  constexpr std::string_view kOption = "--color";
  std::string problem;
  std::erase_if(words, [&](const std::string& word) {
    if (!word.starts_with(kOption) || (word.size() > kOption.size() && word[kOption.size()] != '='))
      return false;
    const auto wish =
        word == kOption ? view::ColourWish::kAlways : view::colour_wish(word.substr(kOption.size() + 1));
    if (!wish) problem = "--color is auto, always or never, not \"" + text::printable(word.substr(8)) + "\"";
    if (wish) view::set_colour(*wish);
    return true;
  });
  return problem;
}

// The command whose words were read last, and its name as it is typed: "minke accounting import".
std::pair<const CLI::App*, std::string> used(const CLI::App& app) {
  const CLI::App* last = &app;
  std::string name = app.get_name().empty() ? "minke" : app.get_name();
  while (!last->get_subcommands().empty()) {
    last = last->get_subcommands().back();
    name += " " + last->get_name();
  }
  return {last, name};
}

// "did you mean --follow?", for a word that is no option, or no command; empty: nothing comes near.
std::string suggestion(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  const std::string bare = word.substr(0, word.find('='));
  if (bare.starts_with("--")) {
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  } else {
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());
  }
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string_view meant = text::nearest(bare, candidates);
  return meant.empty() ? "" : "; did you mean " + std::string(meant) + "?";
}

// Among the words of "… not in {full,lora,qlora}".
std::string value_suggestion(const std::string& message) {
  const size_t open = message.find('{'), close = message.rfind('}'), end = message.find(" not in ");
  if (open == std::string::npos || close == std::string::npos || end == std::string::npos) return "";
  const size_t begin = message.rfind(' ', end - 1);
  const std::string word = message.substr(begin == std::string::npos ? 0 : begin + 1, end - begin - 1);
  std::vector<std::string_view> candidates;
  std::string_view list = std::string_view(message).substr(open + 1, close - open - 1);
  while (!list.empty()) {
    candidates.push_back(list.substr(0, list.find(',')));
    list.remove_prefix(std::min(list.size(), candidates.back().size() + 1));
  }
  const std::string_view meant = text::nearest(word, candidates);
  return meant.empty() ? "" : "; did you mean " + std::string(meant) + "?";
}

std::string problem_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining(true);
  // An error's name may be its command's: its number tells what it is.
  const auto is = [&error](CLI::ExitCodes kind) { return error.get_exit_code() == static_cast<int>(kind); };
  const bool is_required = is(CLI::ExitCodes::RequiredError) && !rest.empty();  // the wrong word is why
  if (!is(CLI::ExitCodes::ExtrasError) && !is_required) {
    const std::string message = text::printable(error.what());
    return message + (is(CLI::ExitCodes::ValidationError) ? value_suggestion(message) : "");
  }
  const std::string word = rest.empty() ? "" : rest.front();
  const std::string shown = text::printable(word);
  if (word.starts_with('-')) return "there is no option " + shown + suggestion(app, word);
  if (const std::string meant = suggestion(app, word); !meant.empty())
    return "there is no " + shown + " here" + meant;
  return "\"" + shown + "\" is one word too many";
}

void add_examples(CLI::App& app, const std::string& name) {
  if (const std::string examples = options::examples_text(name); !examples.empty()) {
    const std::string footer = app.get_footer();
    app.footer(footer.empty() ? examples : footer + "\n\n" + examples);
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; }))
    add_examples(*sub, name + " " + sub->get_name());
}

bool asks_for_help(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (word == "--help" || word == "-h") return true;
  return false;
}

}  // namespace

std::optional<int> parse_options(CLI::App& app, int argc, char** argv) {
  if (taker) {
    taker(app);
    return 0;
  }
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string colour_problem = take_colour(words);
  if (app.get_name().empty()) app.name("minke");
  if (!colour_problem.empty()) {
    std::fprintf(stderr, "%s: error: %s\n", app.get_name().c_str(), colour_problem.c_str());
    return 2;
  }
  if (asks_for_help(words)) add_examples(app, app.get_name());
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error), 0;  // --help, --version
    const auto [command, name] = used(app);
    std::fprintf(stderr, "%s: error: %s\nMore: %s --help\n", name.c_str(),
                 problem_of(*command, error).c_str(), name.c_str());
    return 2;
  }
  return std::nullopt;
}

AppDescriptions::AppDescriptions(Take take) {
  taker = std::move(take);
}

AppDescriptions::~AppDescriptions() {
  taker = nullptr;
}

}  // namespace minke::cli
