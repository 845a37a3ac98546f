// Commands that read their words themselves and print a usage text: that text, as the table
// (options/option.h) that manual pages and completions are made of. So page and --help cannot differ. Any
// thread.
#pragma once

#include <string_view>

#include "cli/app_description.h"

namespace minke::cli {

// An option is a line such as "  --dir DIRECTORY   where it is kept", with two blanks before it and two at
// least before its help; lines with more blanks before them go on with that help. `usage` must live as long
// as `into`. The operands are `operands`.
void describe_usage(std::string_view name, std::string_view purpose, std::string_view operands,
                    std::string_view usage, DescribedApps& into);

}  // namespace minke::cli
