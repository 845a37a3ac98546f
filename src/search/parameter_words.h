// A sweep without a file: parameters as a command line has them, made into the text of a sweep file. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::search {

struct SweepWords {
  std::vector<std::string> parameters;  // lr=log:1e-5..1e-1, units=int:16..256, opt=adam,sgd, …
  std::string metric, goal, method, name;
  std::vector<std::string> command;  // ${args} is added where it has no macro
};

// Errors say which word is wrong, and what the forms are.
Result<std::string> sweep_text(const SweepWords& words);

}  // namespace minke::search
