// Budgets: one table of what each user may use of the daemon at a time, so that no
// user takes resources from others.
//
// A part that keeps something for a user takes a Charge first and stores it beside the thing. The amount
// returns to the budget when the Charge is destroyed. A user over a budget gets an error, or is not read
// from; other users do not notice. Root and operators have larger budgets, but not unlimited ones,
// because their programs have bugs too.
//
// Some budgets are for a time (config::budget_seconds): of what lasts, and of what is done at once. They are
// spent, and come back evenly.
//
// Invariants: the used amount is the sum of the existing charges; within the time of a budget at most twice
// its amount is spent. Pure logic; one thread. Charges may outlive the table.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/budgets.h"

namespace minke::engine {

using config::Budget;
using config::BudgetLimits;
using config::kBudgets;

class Budgets {
  struct Usage;

 public:
  class Charge {
   public:
    Charge() = default;  // of amount 0
    Charge(Charge&& other) noexcept;
    Charge& operator=(Charge&& other) noexcept;
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    ~Charge();
    uint64_t amount() const { return amount_; }

   private:
    friend class Budgets;
    Charge(std::shared_ptr<Usage> usage, config::Budget budget, uint64_t amount);
    std::shared_ptr<Usage> usage_;
    config::Budget budget_ = config::Budget::kConnections;
    uint64_t amount_ = 0;
  };

  // `is_operator`: whether a user has the larger budgets.
  Budgets(config::BudgetLimits limits, std::function<bool(uint32_t uid)> is_operator);

  // Error: the user would exceed the budget.
  Result<Charge> take(uint32_t uid, config::Budget budget, uint64_t amount);
  // Charges something that exists already and cannot be refused. It counts against later requests.
  Charge adopt(uint32_t uid, config::Budget budget, uint64_t amount);
  // Changes the amount of the charge. An error leaves it as it was.
  Status resize(uint32_t uid, Charge& charge, config::Budget budget, uint64_t amount);

  // For budgets of a time. `now`: s, of any clock; a clock that goes back gives nothing back. The error says
  // how long to wait.
  Status spend(uint32_t uid, config::Budget budget, uint64_t amount, int64_t now);

  uint64_t used(uint32_t uid, config::Budget budget) const;
  uint64_t limit(uint32_t uid, config::Budget budget) const;
  void set_limits(config::BudgetLimits limits) { limits_ = limits; }

 private:
  struct Spent {
    double amount = 0;
    int64_t at = 0;
  };
  std::shared_ptr<Usage> usage_of(uint32_t uid);
  void give_back(Spent& spent, uint32_t uid, config::Budget budget, int64_t now) const;
  void forget_spent(int64_t now);
  Error over(uint32_t uid, config::Budget budget) const;

  config::BudgetLimits limits_;
  std::function<bool(uint32_t uid)> is_operator_;
  std::unordered_map<uint32_t, std::weak_ptr<Usage>> users_;
  size_t forget_at_ = 64;
  std::map<std::pair<config::Budget, uint32_t>, Spent> spent_;  // by user
  size_t forget_spent_at_ = 64;
};

}  // namespace minke::engine
