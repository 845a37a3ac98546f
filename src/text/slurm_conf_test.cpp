#include "text/slurm_conf.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

TEST(SlurmConf, LinesAreWordsWithValues) {
  const auto lines = parse_slurm_conf(
      "# a cluster\n"
      "ClusterName=lab   # ours\r\n"
      "\n"
      "NodeName=n[1-2] \\\n"
      "  CPUs=4\tRealMemory = 8000\n"
      "MailProg=\"/usr/bin/my mail\" KillWait=5\n"
      "Prolog=/etc/slurm/a\\#b\n"
      "Include nodes.conf\n"
      "Epilog=\n");
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 6u);
  EXPECT_EQ((*lines)[0].number, 2u);
  EXPECT_EQ((*lines)[0].words, (Words{{"ClusterName", "lab"}}));
  EXPECT_EQ((*lines)[1].number, 4u);
  EXPECT_EQ((*lines)[1].words, (Words{{"NodeName", "n[1-2]"}, {"CPUs", "4"}, {"RealMemory", "8000"}}));
  EXPECT_EQ((*lines)[2].words, (Words{{"MailProg", "/usr/bin/my mail"}, {"KillWait", "5"}}));
  EXPECT_EQ((*lines)[2].number, 6u);
  EXPECT_EQ((*lines)[3].words, (Words{{"Prolog", "/etc/slurm/a#b"}}));
  EXPECT_EQ((*lines)[4].words, (Words{{"Include", "nodes.conf"}}));
  EXPECT_EQ((*lines)[5].words, (Words{{"Epilog", ""}}));
}

TEST(SlurmConf, TheLastLineMayEndInABackslash) {
  const auto lines = parse_slurm_conf("KillWait=5 \\");
  ASSERT_FALSE(lines);
  EXPECT_TRUE(parse_slurm_conf("KillWait=5 \\\n"));
  EXPECT_TRUE(parse_slurm_conf("")->empty());
}

TEST(SlurmConf, WhatIsNoLineIsNamedWithItsNumber) {
  for (const auto& [text, message] :
       {std::pair{"KillWait=5\nKillWait\n", "2: \"KillWait\" is not of the form Name=value"},
        std::pair{"=5", "1: \"=5\" is not of the form Name=value"},
        std::pair{"MailProg=\"x", "1: MailProg lacks the quote at its end"},
        std::pair{"\\\n\\\nx y", "1: \"x\" is not of the form Name=value"}}) {
    const auto lines = parse_slurm_conf(text);
    ASSERT_FALSE(lines) << text;
    EXPECT_EQ(lines.error().message, message);
  }
  EXPECT_FALSE(parse_slurm_conf(std::string_view("A=\0", 3)));
}

}  // namespace
}  // namespace minke::text
