// The parameters of a sweep file. Pure; any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "search/space.h"
#include "search/yaml_tree.h"

namespace minke::search {

// `node` is the mapping below `parameters`. Errors begin with "line N: ".
Result<Space> read_parameters(const YamlNode& node);

// Numbers, as far as a node is one.
Result<double> read_number(const YamlNode& node, const std::string& what);
Result<uint64_t> read_count(const YamlNode& node, const std::string& what);
// "line 3: …".
tl::unexpected<Error> at_line(uint32_t line, const std::string& what);
// " did you mean X?", for a word that is not one of these; else which they are.
std::string instead_of(const std::string& word, const std::vector<std::string>& known);

}  // namespace minke::search
