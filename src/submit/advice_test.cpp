#include "submit/advice.h"

#include <gtest/gtest.h>

#include "submit/script.h"

namespace minke::submit {
namespace {

Invocation called_with(std::vector<std::string> arguments) {
  Invocation invocation;
  invocation.arguments = std::move(arguments);
  return invocation;
}

const std::optional<ScriptFile> kScript =
    ScriptFile{"/home/me/job.sh", "#!/bin/bash\n#SBATCH --mem=1G\n\n#SBATCH --time=24h\ntrue\n"};

TEST(Advice, TimesInOtherWords) {
  const auto of = [](const std::string& value) {
    return advice(called_with({"--time=" + value, "job.sh"}), std::nullopt,
                  "sbatch: error: Invalid --time specification\n");
  };
  EXPECT_TRUE(of("24h").starts_with("write 24:00:00, ")) << of("24h");
  EXPECT_TRUE(of("2d").starts_with("write 2-0, ")) << of("2d");
  EXPECT_TRUE(of("90min").starts_with("write 90, ")) << of("90min");
  EXPECT_TRUE(of("1w").starts_with("write 7-0, ")) << of("1w");
  EXPECT_EQ(of("long"), "write 90 (minutes), 24:00:00 or 1-0 (a day)");
}

TEST(Advice, TheLineOfTheScriptIsNamedUnlessTheCommandLineWins) {
  const std::string_view refusal = "sbatch: error: Invalid --time specification\n";
  EXPECT_TRUE(advice(called_with({"job.sh"}), kScript, refusal)
                  .starts_with("job.sh line 4: #SBATCH --time=24h; write 24:00:00"));
  EXPECT_TRUE(advice(called_with({"-t", "x", "job.sh"}), kScript, refusal).starts_with("write "));
}

TEST(Advice, MisspeltOptions) {
  const auto of = [](const std::string& word) {
    return advice(called_with({word}), std::nullopt,
                  "sbatch: unrecognized option '" + word + "'\nTry \"sbatch --help\" for more information\n");
  };
  EXPECT_EQ(of("--tme=5"), "did you mean --time?");
  EXPECT_EQ(of("--walltime=5"), "did you mean --time?");
  EXPECT_EQ(of("--partiton=x"), "did you mean --partition?");
  EXPECT_EQ(of("--qwertyuiop"), "");
}

TEST(Advice, ArraysMemoryAndDependencies) {
  EXPECT_EQ(advice(called_with({"--array=5-1"}), std::nullopt, "Invalid job array specification"),
            "5-1 runs backwards: 1-5");
  EXPECT_EQ(advice(called_with({"--mem=4GiB"}), std::nullopt, "Invalid --mem specification"), "write 4G");
  EXPECT_EQ(advice(called_with({"-d", "after_ok:1"}), std::nullopt, "Job dependency problem"),
            "did you mean afterok? write afterok:12, or afterany:12:13");
  EXPECT_EQ(advice(called_with({"-d", "afterok:x"}), std::nullopt, "Job dependency problem"),
            "behind the colon stand numbers of jobs: afterok:12:13");
}

TEST(Advice, OneDashIsNotEnough) {
  EXPECT_EQ(advice(called_with({"-time=5"}), std::nullopt, "Invalid --time specification"),
            "a long option needs two dashes: --time=…");
}

TEST(Advice, StandsBehindTheCommandsOwnLastLine) {
  const Invocation invocation = called_with({"--tme=5"});
  Refusal refusal{"sbatch: unrecognized option '--tme=5'\nTry \"sbatch --help\" for more information\n", 255};
  EXPECT_EQ(with_advice(invocation, std::nullopt, refusal).text,
            "sbatch: unrecognized option '--tme=5' (did you mean --time?)\nTry \"sbatch --help\" for more "
            "information\n");
  refusal = {"sbatch: error: all is lost\n", 1};
  EXPECT_EQ(with_advice(invocation, std::nullopt, refusal).text, "sbatch: error: all is lost\n");
  refusal = {"sbatch: error: not available (--mem=1G: too much)\n", 1};
  EXPECT_EQ(with_advice(called_with({"job.sh"}), kScript, refusal).text,
            "sbatch: error: not available (--mem=1G: too much; job.sh line 2: #SBATCH --mem=1G)\n");
}

TEST(Advice, AnyTextIsTaken) {
  for (const std::string_view text :
       {"", "'", "Invalid --", "for --", "(--", "unrecognized option '", "option '--x' is ambiguous"})
    (void)advice(called_with({"--array", "-"}), kScript, text);
}

}  // namespace
}  // namespace minke::submit
