// minke wheels: Python wheels for everybody. avail_wheels: lists those that exist.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct WheelsCommand {
  std::vector<std::string> names;         // as for pip: names, files
  std::vector<std::string> requirements;  // files
  std::vector<std::string> pythons;       // "3.11"; none: the three newest minor versions
};
int wheels_add(const WheelsCommand& command);
int wheels_remove(const std::vector<std::string>& files);

int avail_wheels_main(int argc, char** argv);

}  // namespace minke::cli
