#include "config/budgets.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "config/table.h"
#include "os/files.h"

namespace minke::config {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Row {
  std::string_view name;
  std::string_view what;  // "you have 2000 …, which is what one user may have"
  uint64_t users, operators;
  uint32_t seconds = 0;  // budget_seconds()
};

// In the order of Budget. Descriptors and connections are also bounded by what the daemon has.
constexpr Row kTable[kBudgets] = {
    {"connections", "connections to the daemon", 2000, 4000},
    {"descriptors", "descriptors on their way to steps", 8192, 16384},
    {"received_bytes", "bytes of requests on their way to the daemon", 64 * kMiB, 128 * kMiB},
    {"unread_bytes", "bytes of answers that wait to be read", 256 * kMiB, 512 * kMiB},
    {"specification_bytes", "bytes of specifications of jobs", 512 * kMiB, 2048 * kMiB},
    {"dependencies", "dependencies of jobs", 200000, 1000000},
    {"steps", "steps that wait or run", 10000, 40000},
    {"waiting_step_bytes", "bytes of specifications of steps that wait", 64 * kMiB, 256 * kMiB},
    {"waiting_requests", "requests that wait for an answer", 10000, 100000},
    {"notices", "notices a minute", 60, 600, 60},
    {"split_records", "records of tasks that were held or changed apart from their array", 50000, 500000},
    {"helper_processes", "programs that the daemon runs for him", 16, 256},
    {"stored_bytes", "new bytes of scripts, environments and records an hour", 1024 * kMiB, 8192 * kMiB,
     3600},
    {"forecasts", "forecasts of starts under way", 2, 16},
};

size_t index_of(Budget budget) {
  return static_cast<size_t>(budget);
}

constexpr size_t kMaxFileBytes = size_t{1} << 20;

void read_list(Table& table, std::vector<std::pair<Budget, uint64_t>>& settings) {
  constexpr int64_t kMost = int64_t{1} << 50;
  for (size_t i = 0; i < kBudgets; ++i) {
    const auto budget = static_cast<Budget>(i);
    table.number(budget_name(budget), 1, kMost,
                 [&](int64_t value) { settings.emplace_back(budget, static_cast<uint64_t>(value)); });
  }
}

}  // namespace

std::string_view budget_name(Budget budget) {
  return kTable[index_of(budget)].name;
}

std::string_view budget_meaning(Budget budget) {
  return kTable[index_of(budget)].what;
}

uint32_t budget_seconds(Budget budget) {
  return kTable[index_of(budget)].seconds;
}

BudgetLimits default_budgets(uint64_t spare_descriptors) {
  BudgetLimits limits;
  for (size_t i = 0; i < kBudgets; ++i) {
    limits.users[i] = kTable[i].users;
    limits.operators[i] = kTable[i].operators;
  }
  // A connection takes two. One user's connections and descriptors leave half of what there is to others.
  const auto bound = [&](Budget budget, uint64_t share) {
    for (auto* list : {&limits.users, &limits.operators})
      (*list)[index_of(budget)] = std::min((*list)[index_of(budget)], std::max<uint64_t>(4, share));
  };
  bound(Budget::kConnections, spare_descriptors / 8);
  bound(Budget::kDescriptors, spare_descriptors / 4);
  return limits;
}

BudgetLimits budget_limits(const BudgetSettings& settings, uint64_t spare_descriptors) {
  BudgetLimits limits = default_budgets(spare_descriptors);
  for (const auto& [budget, value] : settings.users) limits.users[index_of(budget)] = value;
  for (const auto& [budget, value] : settings.operators) limits.operators[index_of(budget)] = value;
  for (size_t i = 0; i < kBudgets; ++i) limits.operators[i] = std::max(limits.operators[i], limits.users[i]);
  return limits;
}

void read_budget_settings(Table& section, BudgetSettings& settings) {
  read_list(section, settings.users);
  section.sub_table("operators", [&](Table& of) { read_list(of, settings.operators); });
}

BudgetSettings load_budget_settings(const std::string& path) {
  BudgetSettings settings;
  const auto text = path.empty() || path.ends_with(".conf") ? Result<std::string>(failure(""))
                                                            : os::read_file(path, kMaxFileBytes);
  if (!text) return settings;
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) return settings;
  Table table(parsed.table(), path, "minke.toml");
  table.sub_table("budgets", [&](Table& section) { read_budget_settings(section, settings); });
  return settings;
}

}  // namespace minke::config
