// Slurm compares the names and words of fields and parameters without case: `is(field.name(),
// "State")`. Pure; any thread.
#pragma once

#include <string_view>

#include "text/number.h"

namespace minke::text {

inline bool is(std::string_view given, std::string_view name) {
  return equals_ignoring_case(given, name);
}

}  // namespace minke::text
