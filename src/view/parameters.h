// The first lines of --verbose in squeue and sinfo: the parameters of the query. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace minke::view {

struct Parameter {
  std::string_view name;
  std::string value;
};

std::string yes_or_no_parameter(bool value);            // true, false
std::string list_parameter(const std::string& joined);  // (null) if it is empty

// Returns the list between two rules of dashes, one on each line: "jobs        = (null)".
std::string parameter_list(std::initializer_list<Parameter> parameters);

}  // namespace minke::view
