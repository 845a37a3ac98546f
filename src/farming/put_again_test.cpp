#include "farming/put_again.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "farming/testing.h"
#include "farming/worker_files.h"

namespace minke::farming {
namespace {

using farm::Entry;
using farm::EntryKind;

farm::Outcome end_of(uint64_t number, farm::Ending ending, int code) {
  farm::Outcome outcome;
  outcome.number = number;
  outcome.ending = ending;
  outcome.code = code;
  return outcome;
}

// Cases 1 to 3 of 5 have ended in a worker with four times the memory: well, without memory, with code 3.
class PutAgain : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Journal::create(directory_.path(), 5));
    auto journal = Journal::open(directory_.path());
    ASSERT_TRUE(journal);
    journal_.emplace(std::move(*journal));
    const auto turn = Turn::take(*journal_);
    ASSERT_TRUE(journal_->add(
        {{EntryKind::kWorker, 1, 0, 2, 0, 2, 0, "- n1 boot"}, {EntryKind::kTake, 1, 1, 4, 0, 0, 0, ""}}));
    auto files = WorkerFiles::create(directory_.path(), 1, 2, false);
    ASSERT_TRUE(files);
    files_.emplace(std::move(*files));
    ASSERT_TRUE(files_->ended(end_of(1, farm::Ending::kExited, 0)));
    ASSERT_TRUE(files_->ended(end_of(2, farm::Ending::kOutOfMemory, 9)));
    ASSERT_TRUE(files_->began(0, {3, 0, 1}));
    ASSERT_TRUE(files_->began(1, {4, 0, 1}));
    ASSERT_TRUE(files_->ended(end_of(3, farm::Ending::kExited, 3)));
  }

  Result<uint64_t> again(const std::vector<farm::Range>& cases) {
    const auto turn = Turn::take(*journal_);
    return put_again(*journal_, cases);
  }

  Directory directory_;
  std::optional<Journal> journal_;
  std::optional<WorkerFiles> files_;
};

TEST_F(PutAgain, EachHasTheMemoryThatItHadReached) {
  EXPECT_EQ(again({}).value_or(0), 2u);
  const auto& waiting = journal_->ledger().waiting();
  ASSERT_EQ(waiting.size(), 2u);
  for (const auto& [first, one] : waiting) {
    EXPECT_EQ(one.level, 2u) << first;
    EXPECT_EQ(one.attempt, 1u);
  }
}

TEST_F(PutAgain, OnlyTheNamedOnes) {
  EXPECT_EQ(again({{3, 1, 0}}).value_or(0), 1u);
  ASSERT_EQ(journal_->ledger().waiting().size(), 1u);
  EXPECT_EQ(journal_->ledger().waiting().begin()->first, 3u);
}

TEST_F(PutAgain, WhatHasNotFailedIsNamed) {
  const auto problem = [&](uint64_t number) {
    const auto done = again({{3, 1, 0}, {number, 1, 0}});
    return done ? std::string() : done.error().message;
  };
  EXPECT_EQ(problem(1), "case 1 has ended well: only cases that failed run again");
  EXPECT_EQ(problem(4), "case 4 runs");
  EXPECT_EQ(problem(5), "case 5 waits to run already");
  EXPECT_EQ(problem(6), "the farm has 5 cases, and no case 6");
  EXPECT_TRUE(journal_->ledger().waiting().empty());
}

TEST_F(PutAgain, CasesAreNumbersOrRanges) {
  const auto range = parse_cases("7-9");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 7u);
  EXPECT_EQ(range->count, 3u);
  for (const char* wrong : {"", "0", "9-7", "x", "1-", "-1", "18446744073709551616"})
    EXPECT_FALSE(parse_cases(wrong)) << wrong;
}

TEST_F(PutAgain, WhatHasEndedDoesNotRun) {
  const auto running = running_of(directory_.path(), 1);
  ASSERT_EQ(running.size(), 1u);
  EXPECT_EQ(running[0].number, 4u);
}

}  // namespace
}  // namespace minke::farming
