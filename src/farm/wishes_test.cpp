#include "farm/wishes.h"

#include <gtest/gtest.h>

namespace minke::farm {
namespace {

Entry entry(EntryKind kind, uint32_t worker, uint64_t first, uint64_t count, uint32_t attempt = 0,
            uint32_t level = 0, const std::string& text = "") {
  return {kind, worker, first, count, attempt, level, 0, text};
}

// Ten cases; worker 1 of job 7 on n1 has taken five, and put back case 1 with more memory, and 2 for another
// host.
Ledger farm() {
  Ledger ledger;
  for (const Entry& one :
       {entry(EntryKind::kCases, 0, 0, 10), entry(EntryKind::kSubmit, 0, 2, 0, 0, 0, "key"),
        entry(EntryKind::kJob, 0, 7, 0, 0, 0, "key"), entry(EntryKind::kWorker, 1, 0, 1, 0, 0, "7_1 n1 boot"),
        entry(EntryKind::kTake, 1, 1, 5), entry(EntryKind::kRetry, 1, 1, 1, 1, 1),
        entry(EntryKind::kRetry, 1, 2, 1, 1, 0, "n1")})
    EXPECT_TRUE(ledger.apply(one));
  return ledger;
}

TEST(Wishes, AreForWhatNobodyTakes) {
  const Ledger ledger = farm();
  const auto none = wishes(ledger, {});
  ASSERT_EQ(none.size(), 3u);
  EXPECT_EQ(none[0].cases, 5u);
  EXPECT_EQ(none[2].level, 1u);
  const auto with_one = wishes(ledger, {{1, 0, "n1"}});
  ASSERT_EQ(with_one.size(), 2u);
  EXPECT_EQ(with_one[0].other_than, "n1");
  EXPECT_EQ(with_one[1].level, 1u);
  EXPECT_TRUE(wishes(ledger, {{1, 1, "n2"}}).empty());
  EXPECT_TRUE(wishes(ledger, {{1, 1, ""}}).empty());
}

TEST(Wishes, JobsThatLackAreReplaced) {
  const Ledger ledger = farm();  // with five cases that nobody has taken
  const auto lacking = [&](const std::vector<Present>& present, uint64_t target) -> uint64_t {
    const auto all = wishes(ledger, present, target);
    return !all.empty() && all[0].level == 0 && all[0].other_than.empty() ? all[0].jobs : 0;
  };
  EXPECT_EQ(lacking({}, 3), 3u);
  EXPECT_EQ(lacking({}, 100), 5u);
  EXPECT_EQ(lacking({{1, 1, "n2"}}, 3), 2u);
  EXPECT_EQ(lacking({{2, 0, ""}, {1, 0, "n1"}}, 3), 0u);
  EXPECT_EQ(lacking({{7, 0, ""}}, 3), 0u);
  EXPECT_EQ(lacking({}, 0), 0u);
}

TEST(Wishes, AStoppedFarmHasNone) {
  Ledger ledger = farm();
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kStop, 0, 0, 0)));
  EXPECT_TRUE(wishes(ledger, {}).empty());
}

TEST(Present, IsWhoLivesAndWhoHasNotComeYet) {
  Ledger ledger = farm();
  EXPECT_EQ(present_by_ledger(ledger, {1}).size(), 2u);
  EXPECT_EQ(present_by_ledger(ledger, {}).size(), 1u);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kWorker, 2, 0, 1, 0, 0, "7_2 n2 boot")));
  EXPECT_TRUE(present_by_ledger(ledger, {}).empty());
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kSubmit, 0, 1, 0, 0, 1, "other")));
  EXPECT_EQ(present_by_ledger(ledger, {}).size(), 1u);
  ASSERT_TRUE(ledger.apply(entry(EntryKind::kJob, 0, 0, 0, 0, 0, "other")));
  EXPECT_TRUE(present_by_ledger(ledger, {}).empty());
}

}  // namespace
}  // namespace minke::farm
