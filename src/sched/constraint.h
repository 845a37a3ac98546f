// Parses --constraint, an expression over node features, into a normal form.
//
// Syntax: names, `&` and `,` (both), `|` (either), parentheses. `&` binds more tightly than `|`. Brackets
// around alternatives (`[a|b]`): all nodes of the job have the same alternative. A count (`a*2`,
// `[(a&b)*2&c*1]`): at least so many nodes have the feature. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/layout.h"
#include "sched/request.h"

namespace minke::sched {

// A node must have all features of one of these sets. Canonical form: each set is ascending and has no
// duplicates; the sets are ordered and differ.
using FeatureTerms = std::vector<std::vector<FeatureId>>;

struct Constraint {
  std::vector<FeatureTerms> cases;  // at least one: the first case that suits all nodes of the job counts
  std::vector<FeatureCount> counts;
};

// Errors: 2029 "Invalid feature specification" for bad syntax and for a feature that no node has. Its work is
// bounded, so untrusted input is safe.
Result<Constraint> parse_constraint(std::string_view text, const MachineLayout& layout);

// Whether the node has all features of one of the sets. True if there is no set.
bool has_features(const MachineLayout& layout, NodeId node, const FeatureTerms& any_of);

}  // namespace minke::sched
