// What one user may have of the daemon at a time, so that he takes nothing from others: one table for all of
// it.
//
// Whoever keeps something for a user takes a Charge for it first, and keeps the charge beside it: what is
// used goes back with the charge, wherever the thing ends. Who is over a budget is answered with an error, or
// is not read from; nobody else notices. Root and operators have larger budgets, not none: their programs
// have mistakes, too.
//
// Invariant: what is used is the sum of the charges there are. Pure logic; one thread. Charges may outlive
// the table.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
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
    Charge() = default;  // of nothing
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

  // Error: it would be more than the user may have.
  Result<Charge> take(uint32_t uid, config::Budget budget, uint64_t amount);
  // Of what is there already, and cannot be refused: counted against what is asked for later.
  Charge adopt(uint32_t uid, config::Budget budget, uint64_t amount);
  // The charge is for so much from now on. An error leaves it as it was.
  Status resize(uint32_t uid, Charge& charge, config::Budget budget, uint64_t amount);

  uint64_t used(uint32_t uid, config::Budget budget) const;
  uint64_t limit(uint32_t uid, config::Budget budget) const;
  void set_limits(config::BudgetLimits limits) { limits_ = limits; }

 private:
  std::shared_ptr<Usage> usage_of(uint32_t uid);
  Error over(uint32_t uid, config::Budget budget) const;

  config::BudgetLimits limits_;
  std::function<bool(uint32_t uid)> is_operator_;
  std::unordered_map<uint32_t, std::weak_ptr<Usage>> users_;
  size_t forget_at_ = 64;
};

}  // namespace minke::engine
