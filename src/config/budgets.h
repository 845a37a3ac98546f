// [budgets] and [budgets.operators] of minke.toml. They say nothing of the cluster, only how much of the
// daemon one user may have, so they are no part of Configuration: who counts it reads them.
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
  kDescriptors,         // sent along, and not handed on yet
  kReceivedBytes,       // of requests that are coming
  kUnreadBytes,         // of answers
  kSpecificationBytes,  // of jobs that wait or run
  kDependencies,        // of jobs that wait or run
  kSteps,               // that wait or run
  kWaitingStepBytes,
  kWaitingRequests,  // that have not been answered yet
  kNotices,          // a minute
  kSplitRecords,     // of arrays' tasks that wait, and were changed alone
  kHelperProcesses,  // that the daemon runs, or is about to run, for a user
};
constexpr size_t kBudgets = 12;

struct BudgetLimits {
  std::array<uint64_t, kBudgets> users{}, operators{};
};

// What the configuration sets: [budgets], [budgets.operators].
struct BudgetSettings {
  std::vector<std::pair<Budget, uint64_t>> users, operators;
};

// The name of a budget in the configuration and in the documentation, "waiting_requests".
std::string_view budget_name(Budget budget);
// What it counts, for people: "connections to the daemon".
std::string_view budget_meaning(Budget budget);
// As documented (docs/shared.md). `spare_descriptors`: what all clients together may have.
BudgetLimits default_budgets(uint64_t spare_descriptors);
// The same with what is set; operators have no less than users.
BudgetLimits budget_limits(const BudgetSettings& settings, uint64_t spare_descriptors);

class Table;

void read_budget_settings(Table& section, BudgetSettings& settings);

// From the file that the daemon's configuration was read from; none where it has none, or is no minke.toml.
BudgetSettings load_budget_settings(const std::string& path);

}  // namespace minke::config
