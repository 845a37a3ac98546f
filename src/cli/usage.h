// minke usage: fetches the usage of an allocation year, and prints it.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

struct UsageOptions {
  std::string since;                  // the first day; empty: the last 1 April
  std::vector<std::string> accounts;  // empty: all
  std::string gpu;                    // the model for equivalents; empty: the one used most
  bool json = false;
};
// Returns the exit code. Messages go to standard error.
int usage(const UsageOptions& options);

}  // namespace minke::cli
