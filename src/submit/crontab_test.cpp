#include "submit/crontab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::submit {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<CrontabEntry> entries(std::string_view text) {
  auto read = read_crontab(text);
  EXPECT_TRUE(read) << read.error().message;
  return read ? std::move(*read) : std::vector<CrontabEntry>();
}
std::string problem(std::string_view text) {
  const auto read = read_crontab(text);
  return read ? "" : read.error().message;
}
Outcome<JobRequest> request(std::string_view text) {
  Invocation invocation;
  invocation.working_directory = "/home/alice";
  invocation.release = kSlurm26;
  return crontab_request(entries(text).at(0), invocation);
}
std::string refusal(std::string_view text) {
  const auto made = request(text);
  return made ? "" : made.error().text;
}

TEST(Crontab, AnEntryHasTheOptionsOfTheLinesBeforeItAlone) {
  const auto all = entries(
      "# nightly\n#SCRON -p main\n\nDIR=/home/alice\n# and\n#SCRON -t 1:00 -J foo\n@daily $DIR/x.sh a "
      "b\n\n*/5 * * * * echo hi\n"
      "#SCRON -n 2");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].first_line, 2u);
  EXPECT_EQ(all[0].last_line, 7u);
  EXPECT_EQ(all[0].options, (std::vector<std::string>{"-p", "main", "-t", "1:00", "-J", "foo"}));
  EXPECT_EQ(all[0].script,
            "#!/bin/sh\n# This job was submitted through scrontab\n#SCRON -p main\n#SCRON -t 1:00 -J foo\n"
            "# crontab time request was: '@daily'\n/home/alice/x.sh a b\n");
  EXPECT_EQ(all[1].first_line, 9u);
  EXPECT_TRUE(all[1].options.empty());
  EXPECT_EQ(all[1].command, "echo hi");
}

TEST(Crontab, VariablesAreReplacedInCommandsOnly) {
  EXPECT_EQ(
      entries("A=5\nB = \"6 7\"\nC=$A\n@daily echo $A ${A} \"$A\" $B x$A/y $AB $ $C $1 \\$A")[0].command,
      "echo 5 ${A} \"5\" 6 7 x5/y $AB $ $A $1 \\5");
  EXPECT_EQ(entries("@daily $A\nA=5")[0].command, "$A");
  EXPECT_EQ(entries("A=1\nA=2\n@daily $A")[0].command, "2");
}

TEST(Crontab, TellsTheLineThatIsWrong) {
  EXPECT_THAT(problem("@hourly true\n61 * * * * true"), StartsWith("line 2: \"61\" is no minute"));
  EXPECT_THAT(problem("nonsense"), StartsWith("line 1: \"nonsense\" is no minute"));
  EXPECT_EQ(problem("\n@hourly"), "line 2: a command is missing behind the times");
  EXPECT_THAT(problem("X Y=4"), StartsWith("line 1:"));
  EXPECT_THAT(problem("#SCRON -J 'a\n@hourly true"), StartsWith("line 1:"));
  EXPECT_THAT(problem(std::string("@hourly a\0b", 11)), HasSubstr("NUL"));
}

TEST(Crontab, IsBounded) {
  std::string text;
  for (size_t i = 0; i < kMostCrontabEntries; ++i) text += "@hourly true\n";
  EXPECT_EQ(problem(text), "");
  EXPECT_EQ(problem(text + "@hourly true\n"), "line 257: a crontab has 256 entries at most");
  EXPECT_EQ(problem("#" + std::string(kMostCrontabBytes, 'x')), "a crontab has 64 KiB at most");
}

TEST(Crontab, AnEntryBecomesAJobThatIsRequeued) {
  const auto made = request("#SCRON -n 2 -t 5\n@hourly /bin/echo hi");
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ(made->spec.name(), "echo");
  EXPECT_EQ(made->spec.ntasks(), 2u);
  EXPECT_EQ(made->spec.time_limit_minutes(), 5u);
  EXPECT_EQ(made->spec.cron().spec(), "0 0-23 * * *");
  EXPECT_EQ(made->spec.cron().first_line(), 1u);
  EXPECT_EQ(made->spec.cron().last_line(), 2u);
  EXPECT_TRUE(made->spec.requeue());
  EXPECT_EQ(made->spec.work_dir(), "/home/alice");
  EXPECT_THAT(made->script, HasSubstr("\n/bin/echo hi\n"));
  EXPECT_EQ(request("#SCRON --job-name=x\n@daily true")->spec.name(), "x");
  EXPECT_EQ(request("@daily #SBATCH -N 2")->spec.min_nodes(), 0u);
}

TEST(Crontab, OptionsThatACrontabDecidesAreRefused) {
  EXPECT_EQ(refusal("#SCRON --array=1-3\n@hourly true"),
            "scrontab: error: Invalid option found in #SCRON line: --array=1-3\n");
  EXPECT_EQ(refusal("#SCRON -d singleton -H\n@hourly true"),
            "scrontab: error: Invalid option found in #SCRON line: --hold\n");
  EXPECT_EQ(refusal("#SCRON -t 5 more\n@hourly true"),
            "scrontab: error: Invalid option found in #SCRON line: more\n");
  EXPECT_THAT(refusal("#SCRON --nosuch\n@hourly true"), HasSubstr("--nosuch"));
  EXPECT_EQ(refusal("#SCRON --help\n@hourly true"),
            "scrontab: error: Invalid option found in #SCRON line: --help\n");
  EXPECT_EQ(refusal("#SCRON -t x\n@hourly true"), "scrontab: error: Invalid --time specification\n");
}

TEST(Crontab, LinesOfCancelledEntriesAreListedAsComments) {
  const std::string text = "# a\n#SCRON -n 1\n@hourly true\n@daily false";
  EXPECT_EQ(list_crontab(text, {}), text);
  EXPECT_EQ(list_crontab(text, {{2, 3}}),
            "# a\n#DISABLED: #SCRON -n 1\n#DISABLED: @hourly true\n@daily false");
  EXPECT_EQ(list_crontab(text, {{4, 4}}), "# a\n#SCRON -n 1\n@hourly true\n#DISABLED: @daily false");
  EXPECT_EQ(list_crontab("", {{1, 1}}), "");
}

}  // namespace
}  // namespace minke::submit
