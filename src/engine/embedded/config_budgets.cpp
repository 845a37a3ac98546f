#include "engine/embedded/config_budgets.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/embedded/config_table.h"
#include "os/files.h"

namespace minke::engine {

namespace {

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

}  // namespace minke::engine
