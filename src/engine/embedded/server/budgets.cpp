#include "engine/embedded/server/budgets.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <iterator>
#include <utility>

namespace minke::engine {

struct Budgets::Usage {
  std::array<uint64_t, config::kBudgets> used{};
};

namespace {

size_t index_of(config::Budget budget) {
  return static_cast<size_t>(budget);
}

}  // namespace

Budgets::Charge::Charge(std::shared_ptr<Usage> usage, config::Budget budget, uint64_t amount)
    : usage_(std::move(usage)), budget_(budget), amount_(amount) {
  usage_->used[index_of(budget_)] += amount_;
}

Budgets::Charge::Charge(Charge&& other) noexcept
    : usage_(std::move(other.usage_)), budget_(other.budget_), amount_(std::exchange(other.amount_, 0)) {}

Budgets::Charge& Budgets::Charge::operator=(Charge&& other) noexcept {
  if (this == &other) return *this;
  if (usage_) usage_->used[index_of(budget_)] -= amount_;
  usage_ = std::move(other.usage_);
  budget_ = other.budget_;
  amount_ = std::exchange(other.amount_, 0);
  return *this;
}

Budgets::Charge::~Charge() {
  if (usage_) usage_->used[index_of(budget_)] -= amount_;
}

Budgets::Budgets(config::BudgetLimits limits, std::function<bool(uint32_t uid)> is_operator)
    : limits_(limits), is_operator_(std::move(is_operator)) {}

Result<Budgets::Charge> Budgets::take(uint32_t uid, config::Budget budget, uint64_t amount) {
  const std::shared_ptr<Usage> usage = usage_of(uid);
  const uint64_t used = usage->used[index_of(budget)];
  const auto within = [&](uint64_t most) { return used <= most && amount <= most - used; };
  // Whether a user is an operator is checked last, because that look-up costs most.
  if (within(limits_.users[index_of(budget)]) || within(limit(uid, budget)))
    return Charge(usage, budget, amount);
  return failure(over(uid, budget));
}

Budgets::Charge Budgets::adopt(uint32_t uid, config::Budget budget, uint64_t amount) {
  return Charge(usage_of(uid), budget, amount);
}

Status Budgets::resize(uint32_t uid, Charge& charge, config::Budget budget, uint64_t amount) {
  if (amount > charge.amount()) {
    auto more = take(uid, budget, amount - charge.amount());
    if (!more) return failure(more.error());
  }
  charge = Charge();
  charge = Charge(usage_of(uid), budget, amount);
  return {};
}

Status Budgets::spend(uint32_t uid, config::Budget budget, uint64_t amount, int64_t now) {
  if (spent_.size() >= forget_spent_at_) forget_spent(now);
  Spent& spent = spent_[{budget, uid}];
  give_back(spent, uid, budget, now);
  const auto more = spent.amount + static_cast<double>(amount);
  const auto most = static_cast<double>(limit(uid, budget));
  if (more <= most) {
    spent.amount = more;
    return {};
  }
  Error error = over(uid, budget);
  error.message += "; this takes " + std::to_string(amount);
  if (static_cast<double>(amount) <= most) {
    const double seconds = (more - most) / most * config::budget_seconds(budget);
    error.message += ": try again in " + std::to_string(static_cast<uint64_t>(std::ceil(seconds))) + " s";
  }
  return failure(std::move(error));
}

void Budgets::give_back(Spent& spent, uint32_t uid, config::Budget budget, int64_t now) const {
  const int64_t gone = std::max<int64_t>(0, now - spent.at);
  spent.at = now;
  const double part = static_cast<double>(gone) / config::budget_seconds(budget);
  spent.amount = std::max(0.0, spent.amount - part * static_cast<double>(limit(uid, budget)));
}

void Budgets::forget_spent(int64_t now) {
  for (auto at = spent_.begin(); at != spent_.end();) {
    const auto& [budget, uid] = at->first;
    give_back(at->second, uid, budget, now);
    at = at->second.amount == 0 ? spent_.erase(at) : std::next(at);
  }
  forget_spent_at_ = std::max<size_t>(64, 2 * spent_.size());
}

uint64_t Budgets::used(uint32_t uid, config::Budget budget) const {
  const auto found = users_.find(uid);
  const auto usage = found == users_.end() ? nullptr : found->second.lock();
  return usage ? usage->used[index_of(budget)] : 0;
}

uint64_t Budgets::limit(uint32_t uid, config::Budget budget) const {
  return (is_operator_(uid) ? limits_.operators : limits_.users)[index_of(budget)];
}

std::shared_ptr<Budgets::Usage> Budgets::usage_of(uint32_t uid) {
  if (users_.size() >= forget_at_) {
    std::erase_if(users_, [](const auto& entry) { return entry.second.expired(); });
    forget_at_ = std::max<size_t>(64, 2 * users_.size());
  }
  std::weak_ptr<Usage>& place = users_[uid];
  std::shared_ptr<Usage> usage = place.lock();
  if (!usage) place = usage = std::make_shared<Usage>();
  return usage;
}

Error Budgets::over(uint32_t uid, config::Budget budget) const {
  return Error{EAGAIN, "one user may have " + std::to_string(limit(uid, budget)) + " " +
                           std::string(config::budget_meaning(budget)) + " (budget " +
                           std::string(config::budget_name(budget)) + ")"};
}

}  // namespace minke::engine
