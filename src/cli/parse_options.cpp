#include "cli/parse_options.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/wrong_words.h"
#include "options/examples.h"
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
    const std::string example = lacks_words(error) ? options::first_example(name) : "";
    std::fprintf(stderr, "%s: error: %s\n%sMore: %s --help\n", name.c_str(),
                 wrong_words(*command, error).c_str(),
                 example.empty() ? "" : ("For example: " + example + "\n").c_str(), name.c_str());
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
