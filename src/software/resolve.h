// Chooses what to load for a script's modules: the named one if it exists here, or the nearest, with a
// message about it. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "software/aliases.h"

namespace minke::software {

// Versions by name; a module without a version has an empty one.
using Available = std::map<std::string, std::vector<std::string>, std::less<>>;

struct Resolved {
  std::vector<std::string> modules;  // what Lmod loads
  std::vector<std::string> notes;    // the substitutions, one on each line
};

// `own` has the site's aliases, which count before the well-known ones. A name that nothing replaces stays:
// Lmod reports it as unknown. Names with a leading "-" (to unload) stay, too.
Resolved resolve(const std::vector<std::string>& wanted, const Available& available, const Aliases& own);

}  // namespace minke::software
