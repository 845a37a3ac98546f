// Commands whose options CLI11 describes, as the tables (options/option.h) that manual pages and completions
// are made of. Any thread.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <string>
#include <vector>

#include "options/option.h"

namespace minke::cli {

// The commands' texts stand in `texts`, which must live as long as they.
struct DescribedApps {
  std::deque<std::string> texts;
  std::vector<options::Command> commands;
};

// Adds the command, by the name that it is typed with: "minke tail". Commands below it are in its `commands`,
// a line each with their options.
void describe(const CLI::App& app, const std::string& name, DescribedApps& into);

}  // namespace minke::cli
