#include "farm/ledger.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace minke::farm {
namespace {

Entry entry(EntryKind kind, uint32_t worker, uint64_t first = 0, uint64_t count = 0, uint32_t attempt = 0,
            uint32_t level = 0, const std::string& text = "") {
  return {kind, worker, first, count, attempt, level, 0, text};
}

Ledger farm_of(uint64_t cases, uint32_t workers) {
  Ledger ledger;
  EXPECT_TRUE(ledger.apply(entry(EntryKind::kCases, 0, 0, cases)));
  for (uint32_t i = 1; i <= workers; ++i)
    EXPECT_TRUE(ledger.apply(entry(EntryKind::kWorker, i, 0, 1, 0, 0, "7 n1 boot")));
  return ledger;
}

TEST(Ledger, CasesAreTakenInTheOrderOfTheTable) {
  Ledger ledger = farm_of(10, 2);
  const auto first = ledger.next({}, 3);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->first, 1u);
  EXPECT_EQ(first->count, 3u);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kTake, 1, 1, 3)));
  EXPECT_EQ(ledger.next({}, 100)->first, 4u);
  EXPECT_EQ(ledger.next({}, 100)->count, 7u);
}

TEST(Ledger, NobodyTakesWhatAnotherHas) {
  Ledger ledger = farm_of(10, 2);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kTake, 1, 1, 3)));
  EXPECT_FALSE(ledger.apply(entry(EntryKind::kTake, 2, 1, 1)));
  EXPECT_FALSE(ledger.apply(entry(EntryKind::kTake, 2, 5, 1)));
  EXPECT_FALSE(ledger.apply(entry(EntryKind::kTake, 2, 4, 8)));
  EXPECT_FALSE(ledger.apply(entry(EntryKind::kTake, 3, 4, 1)));
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kGone, 1)));
  EXPECT_FALSE(ledger.apply(entry(EntryKind::kTake, 1, 4, 1)));
}

TEST(Ledger, WhatIsGivenBackComesFirst) {
  Ledger ledger = farm_of(10, 2);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kTake, 1, 1, 5)));
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kReturn, 1, 3, 3)));
  EXPECT_FALSE(ledger.apply(entry(EntryKind::kReturn, 1, 4, 1)));
  EXPECT_EQ(ledger.left(), 8u);
  const auto next = ledger.next({}, 2);
  EXPECT_EQ(next->first, 3u);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kTake, 2, 4, 1)));
  EXPECT_EQ(ledger.next({}, 9)->count, 1u);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kTake, 2, 3, 1)));
  EXPECT_EQ(ledger.next({}, 9)->first, 5u);
}

TEST(Ledger, MemoryAndHostsAreHeeded) {
  Ledger ledger = farm_of(2, 1);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kTake, 1, 1, 2)));
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kRetry, 1, 1, 1, 1, 1)));
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kRetry, 1, 2, 1, 1, 0, "n1")));
  EXPECT_FALSE(ledger.next({0, "n1"}, 1));
  EXPECT_EQ(ledger.next({0, "n2"}, 1)->first, 2u);
  EXPECT_EQ(ledger.next({1, "n1"}, 1)->first, 1u);
  EXPECT_EQ(ledger.left_for({1, "n2"}), 2u);
  EXPECT_EQ(ledger.members().at(1).retries, 2u);
}

TEST(Ledger, AHostIsShunnedAfterwards) {
  Ledger ledger = farm_of(3, 2);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kTake, 1, 1, 3)));
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kRetry, 1, 2, 1, 1)));
  EXPECT_TRUE(ledger.next({0, "n1"}, 9));
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kShun, 1, 2, 0, 1, 0, "n1")));
  EXPECT_FALSE(ledger.next({0, "n1"}, 9));
  EXPECT_TRUE(ledger.next({0, "n2"}, 9));
  // Of another attempt, and of what waits no more.
  EXPECT_TRUE(ledger.apply(entry(EntryKind::kShun, 1, 2, 0, 7, 0, "n2")));
  EXPECT_TRUE(ledger.apply(entry(EntryKind::kShun, 1, 3, 0, 1, 0, "n2")));
  EXPECT_TRUE(ledger.next({0, "n2"}, 9));
}

TEST(Ledger, AStoppedFarmGivesNothing) {
  Ledger ledger = farm_of(2, 1);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kStop, 0)));
  EXPECT_FALSE(ledger.next({}, 1));
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kGoOn, 0)));
  EXPECT_TRUE(ledger.next({}, 1));
}

// Whatever workers do, and in whatever order: each case is in one place.
TEST(Ledger, NoCaseIsLostOrTwice) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](uint64_t most) {
      return std::uniform_int_distribution<uint64_t>(0, most)(random);
    };
    Ledger ledger = farm_of(50, 3);
    std::map<uint64_t, uint32_t> held;  // case, attempt
    std::set<uint64_t> over;
    for (int step = 0; step < 300; ++step) {
      const auto who = static_cast<uint32_t>(1 + up_to(2));
      if (up_to(1) == 0) {
        const auto next = ledger.next({static_cast<uint32_t>(up_to(1)), "n1"}, 1 + up_to(5));
        if (!next) continue;
        ASSERT_TRUE(ledger.apply(entry(EntryKind::kTake, who, next->first, next->count, next->attempt)));
        for (uint64_t i = 0; i < next->count; ++i) {
          ASSERT_TRUE(held.emplace(next->first + i, next->attempt).second) << seed;
          ASSERT_FALSE(over.contains(next->first + i)) << seed;
        }
      } else if (!held.empty()) {
        const auto one = std::next(held.begin(), static_cast<std::ptrdiff_t>(up_to(held.size() - 1)));
        const auto [number, attempt] = *one;
        held.erase(one);
        if (const uint64_t choice = up_to(2); choice == 0) {
          over.insert(number);
        } else {
          ASSERT_TRUE(ledger.apply(choice == 1 ? entry(EntryKind::kReturn, who, number, 1, attempt)
                                               : entry(EntryKind::kRetry, who, number, 1, attempt + 1,
                                                       static_cast<uint32_t>(up_to(1)))));
        }
      }
      ASSERT_EQ(ledger.left() + held.size() + over.size(), 50u) << seed;
    }
  }
}

TEST(Entry, IsReadAsItWasWritten) {
  const Entry written = {EntryKind::kRetry, 12, 345, 6, 7, 8, 1700000000, "a host with blanks"};
  const std::string line = format_entry(written);
  const auto read = parse_entry(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(read);
  EXPECT_EQ(format_entry(*read), line);
}

TEST(Entry, ThatIsCutShortOrChangedIsNone) {
  std::string line = format_entry(entry(EntryKind::kTake, 1, 10, 20));
  line.pop_back();
  for (size_t size = 0; size < line.size(); ++size) EXPECT_FALSE(parse_entry(line.substr(0, size))) << size;
  for (size_t i = 0; i < line.size(); ++i) {
    std::string changed = line;
    changed[i] = changed[i] == '7' ? '8' : '7';
    if (changed == line) continue;
    EXPECT_FALSE(parse_entry(changed)) << changed;
  }
}

}  // namespace
}  // namespace minke::farm
