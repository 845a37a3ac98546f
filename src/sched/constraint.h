// --constraint: an expression over node features, brought into the form "any of these sets of features".
//
// Understood: names, `&` and `,` (both), `|` (either), parentheses; `&` binds more strongly than `|`. Counts
// (`a*2`) and brackets (`[a|b]`: the same one on all nodes) are refused by name. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/layout.h"

namespace minke::sched {

// Canonical: each set ascending and without doubles, the sets ordered, none twice. Errors: 2029 "Invalid
// feature specification" for bad syntax and for a feature that no node has; bounded against hostile input.
Result<std::vector<std::vector<FeatureId>>> parse_constraint(std::string_view text,
                                                             const MachineLayout& layout);

}  // namespace minke::sched
