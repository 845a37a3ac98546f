// minke farm: many cases as one piece of work. One thread.
#pragma once

#include <string_view>

namespace minke::cli {

// What --help prints.
std::string_view farm_usage();

// argv[0] is "farm". Returns the exit status.
int farm_main(int argc, char** argv);

}  // namespace minke::cli
