// Names of other clusters' modules, and what to load for them here. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::software {

struct Alias {
  std::vector<std::string> targets;  // modules, with a version or without; none: there is nothing to load
  std::string reason;                // for people; may be empty
};
// By name, with a version ("python/3.8") or without (any version of it).
using Aliases = std::map<std::string, Alias, std::less<>>;

// Reads lines "NAME[/VERSION] = TARGET…", and comments. An error names the line.
Result<Aliases> parse_aliases(std::string_view text);
std::string format_aliases(const Aliases& aliases);
// Whether it is a valid module name: no blanks, no quotes, no "..".
bool is_module_name(std::string_view name);

// Returns the names of other clusters that this program knows.
const Aliases& well_known_aliases();

// "name/version" comes before "name".
const Alias* find_alias(const Aliases& aliases, std::string_view module);

}  // namespace minke::software
