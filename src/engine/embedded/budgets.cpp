#include "engine/embedded/budgets.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace minke::engine {

struct Budgets::Usage {
  std::array<uint64_t, kBudgets> used{};
};

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Row {
  std::string_view name;
  std::string_view what;  // "you have 2000 …, which is what one user may have"
  uint64_t users, operators;
};

// In the order of Budget. Those of descriptors and connections are bounded by what there is as well.
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
    {"notices", "notices a minute", 60, 600},
};

size_t index_of(Budget budget) {
  return static_cast<size_t>(budget);
}

}  // namespace

std::string_view budget_name(Budget budget) {
  return kTable[index_of(budget)].name;
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

Budgets::Charge::Charge(std::shared_ptr<Usage> usage, Budget budget, uint64_t amount)
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

Budgets::Budgets(BudgetLimits limits, std::function<bool(uint32_t uid)> is_operator)
    : limits_(limits), is_operator_(std::move(is_operator)) {}

Result<Budgets::Charge> Budgets::take(uint32_t uid, Budget budget, uint64_t amount) {
  const std::shared_ptr<Usage> usage = usage_of(uid);
  const uint64_t used = usage->used[index_of(budget)];
  const auto within = [&](uint64_t most) { return used <= most && amount <= most - used; };
  // Whether somebody is an operator is looked up, which costs more than all else here.
  if (within(limits_.users[index_of(budget)]) || within(limit(uid, budget)))
    return Charge(usage, budget, amount);
  return failure(over(uid, budget));
}

Budgets::Charge Budgets::adopt(uint32_t uid, Budget budget, uint64_t amount) {
  return Charge(usage_of(uid), budget, amount);
}

Status Budgets::resize(uint32_t uid, Charge& charge, Budget budget, uint64_t amount) {
  if (amount > charge.amount()) {
    auto more = take(uid, budget, amount - charge.amount());
    if (!more) return failure(more.error());
  }
  charge = Charge();
  charge = Charge(usage_of(uid), budget, amount);
  return {};
}

uint64_t Budgets::used(uint32_t uid, Budget budget) const {
  const auto found = users_.find(uid);
  const auto usage = found == users_.end() ? nullptr : found->second.lock();
  return usage ? usage->used[index_of(budget)] : 0;
}

uint64_t Budgets::limit(uint32_t uid, Budget budget) const {
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

Error Budgets::over(uint32_t uid, Budget budget) const {
  const Row& row = kTable[index_of(budget)];
  return Error{EAGAIN, "one user may have " + std::to_string(limit(uid, budget)) + " " +
                           std::string(row.what) + " (budget " + std::string(row.name) + ")"};
}

}  // namespace minke::engine
