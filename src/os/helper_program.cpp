#include "os/helper_program.h"

#include <utility>

namespace minke::os {

std::vector<std::string> helper_command(Helper helper, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/proc/self/exe", std::string(helper_name(helper))});
  return arguments;
}

}  // namespace minke::os
