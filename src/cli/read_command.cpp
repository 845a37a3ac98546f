#include "cli/read_command.h"

#include <cstdio>
#include <cstdlib>

#include "cli/version_line.h"
#include "options/completion.h"
#include "text/nearest.h"

namespace minke::cli {

namespace {

// " (did you mean --partition?)", for an option that there is not; empty: nothing comes near.
std::string meant_option(const options::Command& command, const std::string& problem) {
  constexpr std::string_view kUnknown = "unrecognized option '--";
  if (!problem.starts_with(kUnknown)) return "";
  const std::string name =
      problem.substr(kUnknown.size(), problem.find_first_of("='", kUnknown.size()) - kUnknown.size());
  std::vector<std::string_view> names;
  for (const options::Option& option : command.options)
    if (!option.help.empty() && !option.name.empty()) names.push_back(option.name);
  const std::string_view meant = text::nearest(name, names);
  return meant.empty() ? "" : " (did you mean --" + std::string(meant) + "?)";
}

}  // namespace

std::vector<options::Setting> settings_of_environment(const options::Command& command) {
  std::vector<options::Setting> settings;
  for (size_t i = 0; i < command.options.size(); ++i) {
    const std::string name(command.options[i].environment);
    if (name.empty()) continue;
    if (const char* value = std::getenv(name.c_str())) settings.push_back({i, value});
  }
  return settings;
}

options::Arguments arguments_of(const options::Command& command, int argc, char** argv,
                                options::Order order) {
  if (std::getenv("POSIXLY_CORRECT") != nullptr) order = options::Order::kFirst;
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  std::vector<options::Option> known = {options::kAutocomplete};
  known.insert(known.end(), command.options.begin(), command.options.end());
  options::Arguments read = options::read_arguments(known, words, order);
  for (options::Setting& setting : read.settings)
    setting.option = setting.option == 0 ? kIsAutocomplete : setting.option - 1;
  return read;
}

int show_matching(const options::Command& command, const std::string& begun) {
  std::vector<options::Option> known = {options::kAutocomplete};
  known.insert(known.end(), command.options.begin(), command.options.end());
  view::write_out(options::matching_options(known, begun));
  return 0;
}

int refuse_arguments(const options::Command& command, const char* called_as, const std::string& problem) {
  const std::string meant = meant_option(command, problem);
  std::fprintf(stderr, "%s: %s%s\n", called_as, problem.c_str(), meant.c_str());
  if (command.hints_at_help)
    std::fprintf(stderr, "Try \"%s --help\" for more information\n", std::string(command.name).c_str());
  return 1;
}

std::optional<int> show_version() {
  view::write_out(version_line());
  return 0;
}

}  // namespace minke::cli
