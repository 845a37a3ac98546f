// [budgets] and [budgets.operators] of minke.toml. They say nothing of the cluster, only how much of the
// daemon one user may have, so they are no part of Configuration: who counts it reads them.
#pragma once

#include <string>

#include "engine/embedded/budgets.h"

namespace minke::engine {

class Table;

void read_budget_settings(Table& section, BudgetSettings& settings);

// From the file that the daemon's configuration was read from; none where it has none, or is no minke.toml.
BudgetSettings load_budget_settings(const std::string& path);

}  // namespace minke::engine
