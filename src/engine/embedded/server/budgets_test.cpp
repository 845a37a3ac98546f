#include "engine/embedded/server/budgets.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace minke::engine {
namespace {

constexpr uint32_t kRoot = 0, kAlice = 1000, kBob = 1001;

Budgets budgets() {
  config::BudgetLimits limits;
  limits.users.fill(10);
  limits.operators.fill(100);
  return Budgets(limits, [](uint32_t uid) { return uid == kRoot; });
}

TEST(Budgets, WhoIsOverIsRefusedAndNobodyElse) {
  Budgets table = budgets();
  auto first = table.take(kAlice, config::Budget::kWaitingRequests, 7);
  ASSERT_TRUE(first);
  auto refused = table.take(kAlice, config::Budget::kWaitingRequests, 4);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("waiting_requests"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(table.take(kAlice, config::Budget::kWaitingRequests, 3));
  EXPECT_TRUE(table.take(kAlice, config::Budget::kDescriptors, 10));
  EXPECT_TRUE(table.take(kBob, config::Budget::kWaitingRequests, 10));
  EXPECT_TRUE(table.take(kRoot, config::Budget::kWaitingRequests, 100));
  EXPECT_FALSE(table.take(kRoot, config::Budget::kWaitingRequests, 101));
  EXPECT_FALSE(table.take(kBob, config::Budget::kWaitingRequests, ~uint64_t{0}));
}

TEST(Budgets, WhatIsThereAlreadyCountsAndIsNotRefused) {
  Budgets table = budgets();
  auto stored = table.adopt(kAlice, config::Budget::kSpecificationBytes, 50);
  EXPECT_EQ(table.used(kAlice, config::Budget::kSpecificationBytes), 50u);
  EXPECT_FALSE(table.take(kAlice, config::Budget::kSpecificationBytes, 0));
  stored = Budgets::Charge();
  EXPECT_TRUE(table.take(kAlice, config::Budget::kSpecificationBytes, 10));
}

TEST(Budgets, AChargeThatCannotGrowStaysAsItWas) {
  Budgets table = budgets();
  Budgets::Charge charge;
  EXPECT_TRUE(table.resize(kAlice, charge, config::Budget::kUnreadBytes, 6));
  EXPECT_FALSE(table.resize(kAlice, charge, config::Budget::kUnreadBytes, 11));
  EXPECT_EQ(charge.amount(), 6u);
  EXPECT_TRUE(table.resize(kAlice, charge, config::Budget::kUnreadBytes, 10));
  EXPECT_TRUE(table.resize(kAlice, charge, config::Budget::kUnreadBytes, 1));
  EXPECT_EQ(table.used(kAlice, config::Budget::kUnreadBytes), 1u);
}

TEST(Budgets, WhatIsSpentComesBackEvenly) {
  Budgets table = budgets();
  constexpr config::Budget kNotices = config::Budget::kNotices;  // 10 a minute
  int64_t now = 1000000;
  EXPECT_TRUE(table.spend(kAlice, kNotices, 4, now));
  EXPECT_TRUE(table.spend(kAlice, kNotices, 6, now));
  const Status refused = table.spend(kAlice, kNotices, 2, now);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("budget notices"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("this takes 2: try again in 12 s"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(table.spend(kBob, kNotices, 10, now));
  EXPECT_TRUE(table.spend(kRoot, kNotices, 100, now));
  EXPECT_FALSE(table.spend(kAlice, kNotices, 2, now += 11));
  EXPECT_TRUE(table.spend(kAlice, kNotices, 2, now += 2));
  EXPECT_FALSE(table.spend(kAlice, kNotices, 1, now - 100000));  // a clock that was set back
  EXPECT_TRUE(table.spend(kAlice, kNotices, 1, now - 100000 + 6));
}

TEST(Budgets, WhatNoTimeGivesBackIsPromisedToNobody) {
  Budgets table = budgets();
  const Status refused = table.spend(kAlice, config::Budget::kStoredBytes, 11, 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("try again"), std::string::npos) << refused.error().message;
}

TEST(Budgets, WhatManyUsersHaveSpentIsForgotten) {
  Budgets table = budgets();
  for (uint32_t user = 0; user < 10000; ++user) {
    EXPECT_TRUE(table.spend(5000 + user, config::Budget::kNotices, 10, user));
    EXPECT_FALSE(table.spend(5000 + user, config::Budget::kNotices, 1, user));
  }
}

// What is used is the sum of the charges, whatever becomes of them.
TEST(Budgets, NothingIsLostAndNothingIsLeftBehind) {
  Budgets table = budgets();
  std::mt19937 random(5);
  std::vector<std::pair<uint32_t, Budgets::Charge>> charges;
  for (int turn = 0; turn < 20000; ++turn) {
    const auto uid = static_cast<uint32_t>(random() % 100);
    if (random() % 2 == 0) {
      if (auto charge = table.take(uid, config::Budget::kConnections, random() % 5))
        charges.emplace_back(uid, std::move(*charge));
    } else if (!charges.empty()) {
      const size_t at = random() % charges.size();
      if (random() % 3 == 0) {
        (void)table.resize(charges[at].first, charges[at].second, config::Budget::kConnections,
                           random() % 12);
      } else {
        std::swap(charges[at], charges.back());
        charges.pop_back();
      }
    }
    if (turn % 100 != 0) continue;
    std::vector<uint64_t> sums(100);
    for (const auto& [owner, charge] : charges) sums[owner] += charge.amount();
    for (uint32_t user = 0; user < 100; ++user) {
      ASSERT_EQ(table.used(user, config::Budget::kConnections), sums[user]);
      ASSERT_LE(sums[user], user == kRoot ? 100u : 10u);
    }
  }
  charges.clear();
  EXPECT_EQ(table.used(5, config::Budget::kConnections), 0u);
}

TEST(Budgets, OneUserLeavesDescriptorsToOthers) {
  for (const uint64_t spare : {96u, 192u, 896u, 18976u, 1u << 20}) {
    const config::BudgetLimits limits = config::default_budgets(spare);
    const auto of = [&](config::Budget budget) { return limits.operators[static_cast<size_t>(budget)]; };
    EXPECT_LE(2 * of(config::Budget::kConnections) + of(config::Budget::kDescriptors), spare / 2 + 12);
    EXPECT_GE(of(config::Budget::kConnections), 4u);
  }
}

}  // namespace
}  // namespace minke::engine
