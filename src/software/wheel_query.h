// The choice of wheels that `avail_wheels` makes. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "software/wheelhouse.h"

namespace minke::software {

struct WheelQuery {
  std::vector<std::string>
      patterns;         // names with shell wildcards, perhaps with ==1.2 or another comparison; none: all
  std::string version;  // with wildcards; empty: the latest of each
  bool all_versions = false;
  std::vector<std::string> pythons;  // "3.11"; none: all
  std::vector<std::string> columns = {"name", "version", "python", "arch"};
  bool not_available = false, only_not_available = false;  // also names without a wheel; or only these
  bool condense = false;                                   // one row for each version, with all its Pythons
};

// Rows of the columns' cells. Fails on an unknown column or comparison.
Result<std::vector<std::vector<std::string>>> query_wheels(const std::vector<Wheel>& wheels,
                                                           const WheelQuery& query);

}  // namespace minke::software
