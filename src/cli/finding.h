// What minke doctor has found.
#pragma once

#include <string>

namespace minke::cli {

enum class Level { kGood, kNote, kBad };

struct Finding {
  Level level;
  std::string what;
  std::string remedy;  // a command, or what to do; empty where nothing is to be done
};

}  // namespace minke::cli
