// --constraint: an expression over node features, brought into normal form.
//
// Understood: names, `&` and `,` (both), `|` (either), parentheses; `&` binds more strongly than `|`.
// Brackets around alternatives (`[a|b]`): the same one on all nodes. A count (`a*2`, `[(a&b)*2&c*1]`): on so
// many nodes at least. Pure; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/layout.h"
#include "sched/request.h"

namespace minke::sched {

// A node has to have all features of one of these sets. Canonical: each set ascending and without doubles,
// the sets ordered, none twice.
using FeatureTerms = std::vector<std::vector<FeatureId>>;

struct Constraint {
  std::vector<FeatureTerms> cases;  // at least one: the first that will do for all nodes of the job counts
  std::vector<FeatureCount> counts;
};

// Errors: 2029 "Invalid feature specification" for bad syntax and for a feature that no node has; bounded
// against hostile input.
Result<Constraint> parse_constraint(std::string_view text, const MachineLayout& layout);

// Has the node all features of one of the sets? Without any set: yes.
bool has_features(const MachineLayout& layout, NodeId node, const FeatureTerms& any_of);

}  // namespace minke::sched
