#include "farm/outcome.h"

#include <gtest/gtest.h>

#include "farm/cut_off.h"
#include "farm/retry_rule.h"
#include "farm/tally.h"

namespace minke::farm {
namespace {

Outcome ended(Ending ending, int code = 0, uint32_t attempt = 0) {
  Outcome outcome;
  outcome.number = 12;
  outcome.attempt = attempt;
  outcome.ending = ending;
  outcome.code = code;
  outcome.slot = 3;
  outcome.started_ms = 1700000000123;
  outcome.run_us = 4567;
  outcome.output_at = uint64_t{5} << 33;
  outcome.output_bytes = 89;
  outcome.max_rss_kib = 1024;
  return outcome;
}

TEST(Outcome, IsReadAsItWasWritten) {
  const auto bytes = pack(ended(Ending::kNotStarted, -2, 7));
  const auto read = unpack_outcome({bytes.data(), bytes.size()});
  ASSERT_TRUE(read);
  EXPECT_EQ(pack(*read), bytes);
  EXPECT_EQ(read->code, -2);
  EXPECT_EQ(read->output_at, uint64_t{5} << 33);
}

TEST(Outcome, ThatIsNotWholeIsNone) {
  auto bytes = pack(ended(Ending::kExited));
  EXPECT_FALSE(unpack_outcome({bytes.data(), bytes.size() - 1}));
  for (char& byte : bytes) {
    byte = static_cast<char>(byte ^ 1);
    EXPECT_FALSE(unpack_outcome({bytes.data(), bytes.size()}));
    byte = static_cast<char>(byte ^ 1);
  }
  EXPECT_FALSE(unpack_outcome(std::string(kOutcomeBytes, '\0')));
}

TEST(RetryRule, RunsAgainWhatItNames) {
  const RetryRule rule{.times = 2, .codes = {75, 137}, .lost = true, .most_level = 1};
  EXPECT_TRUE(decide(rule, ended(Ending::kExited, 75, 1), 0).again);
  EXPECT_FALSE(decide(rule, ended(Ending::kExited, 75, 2), 0).again);
  EXPECT_FALSE(decide(rule, ended(Ending::kExited, 1), 0).again);
  EXPECT_FALSE(decide(rule, ended(Ending::kExited, 0), 0).again);
  EXPECT_TRUE(decide(rule, ended(Ending::kSignalled, 9), 0).again);
  EXPECT_EQ(decide(rule, ended(Ending::kOutOfMemory), 0).level, 1u);
  EXPECT_FALSE(decide(rule, ended(Ending::kOutOfMemory), 1).again);
  EXPECT_TRUE(decide(rule, ended(Ending::kNodeFail), 0).other_host);
  EXPECT_FALSE(decide(rule, ended(Ending::kLost, 0, kMostRunsOfLost), 0).again);
  EXPECT_FALSE(decide({.lost = false}, ended(Ending::kLost), 0).again);
  EXPECT_FALSE(decide(rule, ended(Ending::kNotStarted, 2), 0).again);
}

TEST(RetryRule, ExitCodesAreNumbersAndRanges) {
  EXPECT_EQ(*parse_exit_codes("1,75-77"), (std::vector<int>{1, 75, 76, 77}));
  for (const char* wrong : {"", "x", "256", "5-3", "1,,2", "-1"})
    EXPECT_FALSE(parse_exit_codes(wrong)) << wrong;
}

TEST(Tally, SumsUp) {
  Tally tally;
  tally.add(ended(Ending::kExited));
  Outcome failed = ended(Ending::kExited, 3);
  failed.again = true;
  tally.add(failed);
  tally.add(ended(Ending::kSignalled, 9));
  EXPECT_EQ(tally.ended, 3u);
  EXPECT_EQ(tally.failed_for_good(), 1u);
  const auto read = parse_tally(format_tally(tally));
  ASSERT_TRUE(read);
  EXPECT_EQ(format_tally(*read), format_tally(tally));
  std::string changed = format_tally(tally);
  changed[0] = '9';
  EXPECT_FALSE(parse_tally(changed));
}

TEST(CutOff, IsAboveAllButTheLongestEighth) {
  EXPECT_EQ(longest_eighth({1, 2, 3, 4, 5, 6, 7, 8}), 7u);
  EXPECT_EQ(longest_eighth({16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), 14u);
  EXPECT_EQ(longest_eighth({5}), 5u);
  EXPECT_FALSE(wants_cut_off(7, 0));
  EXPECT_TRUE(wants_cut_off(8, 0));
  EXPECT_FALSE(wants_cut_off(15, 8));
  EXPECT_TRUE(wants_cut_off(16, 8));
  EXPECT_EQ(cut_off_mark(31), 16u);
}

TEST(Share, IsOneOfLongCasesAndMoreOfShortOnes) {
  EXPECT_EQ(cases_at_once({.mean_run_us = 0, .slots = 4, .workers = 1, .left = 1000}), 1u);
  EXPECT_EQ(cases_at_once({.mean_run_us = 60'000'000, .slots = 4, .workers = 1, .left = 1000}), 1u);
  EXPECT_EQ(cases_at_once({.mean_run_us = 1000, .slots = 2, .workers = 2, .left = 100'000}), 2000u);
  EXPECT_EQ(cases_at_once({.mean_run_us = 1000, .slots = 2, .workers = 5, .left = 100}), 10u);
}

}  // namespace
}  // namespace minke::farm
