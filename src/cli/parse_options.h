// The reading of each command whose options CLI11 describes: its words, its --help with examples, and errors
// that say what to write instead. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

namespace minke::cli {

// Reads the arguments and calls the callbacks of subcommands. Returns the exit code if the command is over
// already: help was asked for, or an error was printed. --color=WHEN may stand anywhere among the arguments.
std::optional<int> parse_options(CLI::App& app, int argc, char** argv);

// While it lives, commands of this process are not read but passed to `take`, and end with status 0: how
// manual pages and completions are made of the descriptions. At most one at a time.
class AppDescriptions {
 public:
  using Take = std::function<void(const CLI::App&)>;
  explicit AppDescriptions(Take take);
  ~AppDescriptions();
  AppDescriptions(const AppDescriptions&) = delete;
  AppDescriptions& operator=(const AppDescriptions&) = delete;
};

}  // namespace minke::cli
