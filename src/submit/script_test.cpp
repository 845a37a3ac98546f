#include "submit/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::submit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> words(std::string_view script) {
  auto scanned = scan_script(script, "job.sh", kSlurm22);
  EXPECT_TRUE(scanned) << script;
  std::vector<std::string> out;
  if (!scanned) return out;
  for (const Directive& directive : scanned->components[0]) out.push_back(directive.argument);
  return out;
}

std::string problem(std::string_view script) {
  auto good = check_script(script);
  return good ? std::string() : good.error().message;
}

TEST(Script, WhatSlurmRefuses) {
  EXPECT_EQ(problem(""), "Batch script is empty!");
  EXPECT_EQ(problem("   \n\n\t"), "Batch script contains only whitespace!");
  EXPECT_THAT(problem("hostname\n"), HasSubstr("This does not look like a batch script.  The first\n"));
  EXPECT_THAT(problem(std::string_view("\177ELF\0\0", 6)),
              HasSubstr("This does not look like a batch script."));
  EXPECT_THAT(problem("\n#!/bin/sh\n"), HasSubstr("This does not look like a batch script."));
  EXPECT_THAT(problem(std::string_view("#!/bin/sh\nhost\0name\n", 20)),
              HasSubstr("contain a NULL character '\\0'."));
  EXPECT_THAT(problem("#!/bin/sh\r\nhostname\r\n"),
              HasSubstr("Batch script contains DOS line breaks (\\r\\n)\n"));
  EXPECT_THAT(problem("#!/bin/sh\nhostname\r\n"), HasSubstr("DOS line breaks"));
  EXPECT_EQ(problem("#!/bin/sh"), "");
  EXPECT_EQ(problem("#! /usr/bin/env python3\nprint(1)\n"), "");
  std::string large = "#!/bin/sh\n#" + std::string(kMaxScriptBytes - 11, 'a');
  EXPECT_EQ(problem(large), "");
  EXPECT_THAT(problem(large + "a"), HasSubstr("Pathname of a file, directory or other parameter too long"));
}

TEST(Script, ABackslashKeepsABlankInItsWord) {
  constexpr std::string_view kDirective = " --comment=a\\ b -n 2";
  EXPECT_THAT(*split_directive(kDirective), ElementsAre("--comment=a b", "-n", "2"));
  EXPECT_THAT(*split_directive(kDirective, kSlurm22), ElementsAre("--comment=a", "b", "-n", "2"));
  EXPECT_THAT(words("#!/bin/sh\n#SBATCH --comment=a\\ b\n"), ElementsAre("--comment=a", "b"));
}

// sbatch 22.05 was given each of these scripts with -vvv, which lists what it finds.
TEST(Script, DirectivesAsSlurmFindsThem) {
  EXPECT_THAT(words("#!/bin/sh\n"
                    "#SBATCH --job-name=\"a b\"   # comment\n"
                    "#SBATCH -t 5 #x\n"
                    "##SBATCH -n 9\n"
                    " #SBATCH -n 8\n"
                    "#SBATCH\t-c 2\n"
                    "#SBATCH --comment=it\\ is\n"
                    "#SBATCH -n 3 -N 1\n"
                    "\n"
                    "# more\n"
                    "#SBATCH --nice=3\n"
                    "#SBATCHx -n 7\n"
                    "hostname\n"
                    "#SBATCH --priority=3\n"),
              ElementsAre("--job-name=a b", "-t", "5", "-c", "2", "--comment=it", "is", "-n", "3", "-N", "1",
                          "--nice=3", "x", "-n", "7"));
  EXPECT_THAT(words("#!/bin/sh\n"
                    "#SBATCH -J a#b --comment \"x # y\" -n 2 # -c 3\n"
                    "#SBATCH -A\tfoo\n"
                    "#SBATCH --export=A=\"x y\",B\n"
                    "#SBATCH\n"
                    "#SBATCH--nice\n"
                    "#SBATCH -N2 \\\n"
                    "#SBATCH --qos=a\\#b\n"),
              ElementsAre("-J", "a", "-A", "foo", "--export=A=x y,B", "--nice", "-N2", "--qos=a#b"));
  EXPECT_THAT(words("#!/bin/sh\n#SBATCH --job-name='a\"b'c\"d'e\" --comment=\"x\\\"y\" -n 2\n"),
              ElementsAre("--job-name=a\"bcd'e", "--comment=x\"y", "-n", "2"));
}

TEST(Script, OnlyLinesAboveTheFirstCommand) {
  EXPECT_THAT(words("#!/usr/bin/env python3\n#SBATCH -n 2\nimport os\n#SBATCH -n 3\n"),
              ElementsAre("-n", "2"));
  EXPECT_THAT(words("#!/bin/sh\n:<<X\n#SBATCH -n 3\nX\n"), ElementsAre());
  EXPECT_THAT(words("#!/bin/sh\n\t\n   # x\n#SBATCH -n 3"), ElementsAre("-n", "3"));
  EXPECT_THAT(words("#!/bin/sh\n"), ElementsAre());
  EXPECT_THAT(words(""), ElementsAre());
  EXPECT_THAT(words("#!/bin/sh\n#sbatch -n 3\n#SBATCH\n#SBATCH   \n"), ElementsAre());
  EXPECT_THAT(words("#!/bin/sh\n#SBATCH -J \"\" -n2\n"), ElementsAre("-J"));
}

TEST(Script, UnmatchedQuotes) {
  auto scanned = scan_script("#!/bin/sh\n#SBATCH --job-name=\"ab\n#SBATCH -n 2\n", "job.sh");
  ASSERT_FALSE(scanned);
  EXPECT_EQ(scanned.error().message, "fatal: job.sh: line 2: Unmatched `\"` in [--job-name=\"ab]");
  EXPECT_FALSE(scan_script("#!/bin/sh\n#SBATCH -J 'ab\n", "job.sh"));
  EXPECT_FALSE(scan_script("#!/bin/sh\n#SBATCH -J \"ab\\\"", "job.sh"));
}

TEST(Script, UnicodeDashesAreNamed) {
  for (const char* dash : {"\xe2\x80\x90", "\xe2\x80\x93", "\xe2\x80\x94", "\xe2\x88\x92"}) {
    std::string script = "#!/bin/sh\n# x\n#SBATCH " + std::string(dash) + "n 2\n";
    auto scanned = scan_script(script, "job.sh");
    ASSERT_FALSE(scanned);
    EXPECT_THAT(scanned.error().message,
                HasSubstr("Invalid directive found in batch script: " + std::string(dash) + "n"));
    EXPECT_THAT(scanned.error().message, HasSubstr("line 3"));
    EXPECT_EQ(scanned.error().code, 255);
  }
  EXPECT_THAT(words("#!/bin/sh\n#SBATCH -J caf\xc3\xa9\xe2\x80\x93x\n"),
              ElementsAre("-J", "caf\xc3\xa9\xe2\x80\x93x"));
}

TEST(Script, ComponentsOfHeterogeneousJobs) {
  auto counts = [](std::string_view script) {
    auto scanned = scan_script(script, "x");
    std::vector<size_t> out;
    for (const auto& component : scanned->components) out.push_back(component.size());
    return out;
  };
  EXPECT_THAT(counts("#!/bin/sh\n#SBATCH -n 2\n#SBATCH hetjob\n#SBATCH -n 3 -c 2\n"), ElementsAre(2, 4));
  EXPECT_THAT(counts("#!/bin/sh\n#SBATCH -n2\n#SBATCH HETJOB -n 9\n#SBATCH packjob\n#SBATCH -n3\n"),
              ElementsAre(1, 0, 1));
  EXPECT_THAT(counts("#!/bin/sh\n#SBATCH -n2\n#SBATCH hetjob\n"), ElementsAre(1, 0));
  EXPECT_TRUE(scan_script("#!/bin/sh\n#SBATCH packjob\n", "x")->has_packjob);
  EXPECT_FALSE(scan_script("#!/bin/sh\n#SBATCH hetjob\n", "x")->has_packjob);
}

TEST(Script, Wrapped) {
  EXPECT_EQ(wrap_script("echo hi"), "#!/bin/sh\n# This script was created by sbatch --wrap.\n\necho hi\n");
  EXPECT_TRUE(check_script(wrap_script("")));
}

}  // namespace
}  // namespace minke::submit
