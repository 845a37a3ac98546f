#include "view/parameters.h"

#include <fmt/format.h>

#include <iterator>

namespace minke::view {

std::string yes_or_no_parameter(bool value) {
  return value ? "true" : "false";
}

std::string list_parameter(const std::string& joined) {
  return joined.empty() ? "(null)" : joined;
}

std::string parameter_list(std::initializer_list<Parameter> parameters) {
  const std::string rule = std::string(29, '-') + "\n";
  std::string out = rule;
  for (const Parameter& parameter : parameters)
    fmt::format_to(std::back_inserter(out), "{:<11} = {}\n", parameter.name, parameter.value);
  return out + rule;
}

}  // namespace minke::view
