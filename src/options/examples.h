// Examples of each command: what --help and the manual page show behind the options. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace minke::options {

struct Example {
  std::string_view command;  // "sbatch", "minke tail"
  std::string_view line;     // what is typed
  std::string_view what;     // what it does
};

// "Examples:\n  minke tail -f 12    …\n"; empty where there are none of this command.
std::string examples_text(std::string_view command);
// "minke tail 12"; empty where there are none of this command.
std::string first_example(std::string_view command);
// The section EXAMPLES of a manual page, in roff; empty where there are none.
std::string examples_roff(std::string_view command);

}  // namespace minke::options
