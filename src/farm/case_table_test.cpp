#include "farm/case_table.h"

#include <gtest/gtest.h>

#include "farm/sizing.h"

namespace minke::farm {
namespace {

std::vector<std::string> filled(std::vector<std::string> words, const Values& values) {
  const auto command = CommandTemplate::make(std::move(words));
  EXPECT_TRUE(command);
  const auto done = command->fill(values);
  return done ? *done : std::vector<std::string>{done.error().message};
}

TEST(CommandTemplate, PutsValuesInPlaceAndNothingElse) {
  Values values{7, "data/a b.txt", {"lr", "name"}, {"0.1", "$(rm -rf /); `x` 'y'"}};
  EXPECT_EQ(
      filled({"run", "--lr={lr}", "{name}", "{2}", "{#}"}, values),
      (std::vector<std::string>{"run", "--lr=0.1", "$(rm -rf /); `x` 'y'", "$(rm -rf /); `x` 'y'", "7"}));
  EXPECT_EQ(filled({"run", "{/}", "{//}", "{.}", "{/.}", "{{x}}"}, values),
            (std::vector<std::string>{"run", "a b.txt", "data", "data/a b", "a b", "{x}"}));
  EXPECT_EQ(filled({"run"}, values), (std::vector<std::string>{"run", "data/a b.txt"}));
}

TEST(CommandTemplate, NamesWhatIsMissing) {
  EXPECT_FALSE(CommandTemplate::make({}));
  EXPECT_FALSE(CommandTemplate::make({"run", "{lr"}));
  EXPECT_EQ(filled({"run", "{wd}"}, {3, "x", {"lr"}, {"1"}}).front(), "case 3 has no column wd; it has lr");
}

std::vector<std::string> read(TableForm form, const std::vector<std::string>& lines,
                              std::string* problem = nullptr) {
  TableReader reader(form, "cases");
  std::vector<std::string> kept;
  for (const std::string& line : lines) {
    const auto one = reader.take(line);
    if (!one && problem != nullptr) *problem = one.error().message;
    if (!one) return kept;
    if (!one->empty()) kept.push_back(*one);
  }
  if (const Status finished = reader.finish(); !finished && problem != nullptr)
    *problem = finished.error().message;
  return kept;
}

TEST(TableReader, RowsHaveQuotesAndLineFeeds) {
  TableReader reader(TableForm::kComma, "cases");
  std::string kept;
  for (const char* line : {"a,b", "1,\"x, \"\"y\"\"", "z\""}) kept = *reader.take(line);
  const auto values = values_of(TableForm::kComma, reader.columns(), 1, kept);
  ASSERT_TRUE(values);
  EXPECT_EQ(values->columns, (std::vector<std::string>{"1", "x, \"y\"\nz"}));
  EXPECT_EQ(values->names, (std::vector<std::string>{"a", "b"}));
}

TEST(TableReader, NamesTheLineThatIsWrong) {
  std::string problem;
  read(TableForm::kComma, {"a,b", "1,2", "3"}, &problem);
  EXPECT_EQ(problem, "cases, line 3: it has 1 columns, and the first line has 2");
  read(TableForm::kComma, {"a,b", "1,2", "3,\"x"}, &problem);
  EXPECT_EQ(problem, "cases, line 3: its quote \" is never closed");
  read(TableForm::kComma, {"a,a"}, &problem);
  EXPECT_NE(problem.find("two columns are called \"a\""), std::string::npos);
  read(TableForm::kObjects, {"{\"a\": 1}", "{\"a\": }"}, &problem);
  EXPECT_NE(problem.find("cases, line 2: it is not JSON"), std::string::npos);
  read(TableForm::kObjects, {"3"}, &problem);
  EXPECT_NE(problem.find("not an object"), std::string::npos);
}

TEST(TableReader, LinesAreCasesAndBlankOnesAreNone) {
  EXPECT_EQ(read(TableForm::kLines, {"a b", "", "  ", "c\r"}), (std::vector<std::string>{"a b", "c"}));
  const auto values = values_of(TableForm::kLines, {}, 1, "a  b c");
  EXPECT_EQ(values->columns, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(TableReader, ObjectsGiveTheirValuesAsText) {
  const auto values = values_of(TableForm::kObjects, {}, 4, R"({"lr": 0.1, "name": "x y", "tags": [1, 2]})");
  ASSERT_TRUE(values);
  EXPECT_EQ(filled({"run", "{lr}", "{name}", "{tags}"}, *values),
            (std::vector<std::string>{"run", "0.1", "x y", "[1,2]"}));
}

constexpr uint64_t kSecond = 1'000'000;

TEST(Sizing, ShortWorkIsOneJob) {
  EXPECT_EQ(size_farm({.mean_us = 1000, .longest_us = 2000, .cases = 1000, .at_once = 1}, {}).jobs, 1u);
}

TEST(Sizing, LongWorkFillsTheCluster) {
  const Size size =
      size_farm({.mean_us = 95 * kSecond, .longest_us = 200 * kSecond, .cases = 1000, .at_once = 1},
                {.free_jobs = 2, .all_jobs = 11, .most_jobs = 998});
  EXPECT_EQ(size.jobs, 11u);
  // META-Farm's own example: 95 s x 1000 x 1.2 = 31.7 h, 3 h in each of 11 jobs.
  EXPECT_NEAR(static_cast<double>(size.minutes), 180 * 1.25, 20);
}

TEST(Sizing, LimitsAreHeededAndTold) {
  const Size size =
      size_farm({.mean_us = 3600 * kSecond, .longest_us = 3600 * kSecond, .cases = 5000, .at_once = 1},
                {.most_jobs = 10, .most_minutes = 60});
  EXPECT_EQ(size.jobs, 10u);
  EXPECT_EQ(size.minutes, 60u);
  std::string all;
  for (const std::string& reason : size.reasons) all += reason + "\n";
  EXPECT_NE(all.find("no more than 10 jobs"), std::string::npos);
  EXPECT_NE(all.find("a job may run for 01:00:00"), std::string::npos);
}

std::string all_of(const Size& size) {
  std::string all;
  for (const std::string& reason : size.reasons) all += reason + "\n";
  return all;
}

TEST(Sizing, LimitsOfAccountsAndPartitionsAreNamed) {
  const Size size =
      size_farm({.mean_us = 3600 * kSecond, .longest_us = 3600 * kSecond, .cases = 5000, .at_once = 1},
                {.most_minutes = 60,
                 .time_by = "partition short",
                 .bounds = {{20, "QOS normal lets you have 20 jobs"}, {7, "account lab lets 7 run"}}});
  EXPECT_EQ(size.jobs, 7u);
  EXPECT_NE(all_of(size).find("account lab lets 7 run"), std::string::npos);
  EXPECT_NE(all_of(size).find("partition short lets a job run for 01:00:00"), std::string::npos);
  EXPECT_NE(all_of(size).find("about 715 cases each"), std::string::npos);
}

TEST(Sizing, AWaitLongerThanTheWorkIsNotWorthIt) {
  const Needs needs = {.mean_us = 60 * kSecond, .longest_us = 60 * kSecond, .cases = 1000, .at_once = 1};
  const Means busy = {.free_jobs = 2, .all_jobs = 50, .wait_us = 24 * 3600 * kSecond};
  EXPECT_EQ(size_farm(needs, busy).jobs, 2u);  // 10 h of work for each of two
  Means soon = busy;
  soon.wait_us = 600 * kSecond;
  EXPECT_EQ(size_farm(needs, soon).jobs, 50u);
  EXPECT_NE(all_of(size_farm(needs, soon)).find("those that cannot start now start in about 00:10:00"),
            std::string::npos);
}

TEST(Sizing, ThereAreNotMoreJobsThanCases) {
  EXPECT_EQ(size_farm({.mean_us = 600 * kSecond, .longest_us = 0, .cases = 6, .at_once = 2}, {}).jobs, 3u);
}

}  // namespace
}  // namespace minke::farm
