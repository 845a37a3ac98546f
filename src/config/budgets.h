// [budgets] and [budgets.operators] of minke.toml. They concern only how much of the daemon one user may
// take, not the cluster, so they are not part of Configuration: the code that counts reads them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minke::config {

enum class Budget : uint8_t {
  kConnections,
  kDescriptors,         // sent along, and not passed on yet
  kReceivedBytes,       // of incoming requests
  kUnreadBytes,         // of answers
  kSpecificationBytes,  // of pending and running jobs
  kDependencies,        // of pending and running jobs
  kSteps,               // pending or running
  kWaitingStepBytes,
  kWaitingRequests,  // not answered yet
  kNotices,          // a minute
  kSplitRecords,     // of pending array tasks that were changed alone
  kHelperProcesses,  // that the daemon runs, or is about to run, for a user
  kStoredBytes,      // an hour: what the database grows by
  kForecasts,        // under way
};
constexpr size_t kBudgets = 14;

struct BudgetLimits {
  std::array<uint64_t, kBudgets> users{}, operators{};
};

// The settings of the configuration: [budgets], [budgets.operators].
struct BudgetSettings {
  std::vector<std::pair<Budget, uint64_t>> users, operators;
};

// The name of a budget in the configuration and in the documentation, "waiting_requests".
std::string_view budget_name(Budget budget);
// What it counts, for people: "connections to the daemon".
std::string_view budget_meaning(Budget budget);
// Not 0: the budget is of what happens in so many seconds, not of what there is at a time.
uint32_t budget_seconds(Budget budget);
// The documented defaults (docs/shared.md). `spare_descriptors`: what all clients together may have.
BudgetLimits default_budgets(uint64_t spare_descriptors);
// The defaults with the settings applied; operators have no less than users.
BudgetLimits budget_limits(const BudgetSettings& settings, uint64_t spare_descriptors);

class Table;

void read_budget_settings(Table& section, BudgetSettings& settings);

// Reads the file of the daemon's configuration; returns none if there is none, or it is not a minke.toml.
BudgetSettings load_budget_settings(const std::string& path);

}  // namespace minke::config
