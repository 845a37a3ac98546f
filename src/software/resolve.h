// What to load for the modules that a script names: what it names where that is here, or the nearest that is,
// and the words to say so. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "software/aliases.h"

namespace minke::software {

// Versions by name; a module without a version has the empty one.
using Available = std::map<std::string, std::vector<std::string>, std::less<>>;

struct Resolved {
  std::vector<std::string> modules;  // what Lmod shall load
  std::vector<std::string> notes;    // what was taken instead of what, a line each
};

// `own`: the site's aliases, which count before the well-known ones. What there is nothing for stays as it
// is: Lmod says that it is unknown. Names with a leading "-" (to unload) stay as they are.
Resolved resolve(const std::vector<std::string>& wanted, const Available& available, const Aliases& own);

}  // namespace minke::software
