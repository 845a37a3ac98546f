// How much each parameter of a search matters for its value: the part of the values' variance that splits by
// this parameter explain, in a forest of regression trees (L. Breiman, Random Forests, 2001), and the rank
// correlation. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "search/sampler.h"

namespace minke::search {

struct Importance {
  size_t parameter = 0;
  double share = 0;        // of all of them together, in [0, 1]
  double correlation = 0;  // with the value: Spearman's, of numbers; of categories 0
};

// In the order of their shares, the largest first. Trials without a value are left out; with less than 4, the
// result is empty.
std::vector<Importance> importances(const Space& space, const std::vector<Observation>& history,
                                    uint64_t seed);

}  // namespace minke::search
