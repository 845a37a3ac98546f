// The end of each command whose options CLI11 reads.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

namespace minke::cli {

// Reads the arguments and calls the callbacks of subcommands. Returns the exit code if the command is over
// already: help was asked for, or an error was printed.
inline std::optional<int> parse_options(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace minke::cli
