// minke wheels: Python's wheels for everybody. avail_wheels: what there is.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct WheelsCommand {
  std::vector<std::string> names;         // as pip takes them: names, files
  std::vector<std::string> requirements;  // files
  std::vector<std::string> pythons;       // "3.11"; none: the three newest minor versions
};
int wheels_add(const WheelsCommand& command);
int wheels_remove(const std::vector<std::string>& files);

int avail_wheels_main(int argc, char** argv);

}  // namespace minke::cli
