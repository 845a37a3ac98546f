// Names of accounts and QOS as a user writes them: what keeps accounts stores them in small letters, and
// every command finds them however they are written. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "text/number.h"

namespace minke::cli {

// Each name, and behind it the form that is stored where that differs. Without accounts that are kept, jobs
// have the names as they were given.
inline std::vector<std::string> with_stored_names(const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const std::string& name : given) {
    names.push_back(name);
    if (std::string stored = text::lower_case(name); stored != name) names.push_back(std::move(stored));
  }
  return names;
}

}  // namespace minke::cli
