// What accounts and users have used of a year, against their allocations: minke usage and the portal.
// Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "view/usage_report.h"

namespace minke::engine {
class Engine;
}  // namespace minke::engine

namespace minke::helpers {

// Allocations of Canada's research computing begin on the first of April: the last one, at midnight.
int64_t last_first_of_april(int64_t now);

struct UsageWanted {
  int64_t begin = 0, now = 0;         // s since the epoch
  std::vector<std::string> accounts;  // none: all
  std::string equivalent;             // the model of GPUs for equivalents; empty: the one most used
};
Result<view::UsageReport> usage_of_year(engine::Engine& cluster, const UsageWanted& wanted);

}  // namespace minke::helpers
