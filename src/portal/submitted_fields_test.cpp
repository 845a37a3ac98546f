#include "portal/submitted_fields.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace minke::portal {
namespace {

using Words = std::vector<std::string>;

struct Asked {
  Words options, warnings;
};

Asked asked(const char* job) {
  Asked found;
  found.options = submitted_options(Json::parse(job), found.warnings);
  std::sort(found.options.begin(), found.options.end());
  std::sort(found.warnings.begin(), found.warnings.end());
  return found;
}

TEST(SubmittedFields, OneOptionForAField) {
  const Asked job = asked(R"({"name": "train", "tasks": 4, "time_limit": {"set": true, "number": 30},
                              "memory_per_node": {"set": false, "number": 0}, "contiguous": true, "hold": false,
                              "cpus_per_tres": "gres/gpu:4", "memory_per_tres": "gres:gpu:100", "network": "ib",
                              "core_specification": 1, "tres_per_node": "gres/gpu:a100:2", "prefer": null})");
  EXPECT_EQ(job.options,
            (Words{"--contiguous", "--core-spec=1", "--cpus-per-gpu=4", "--gres=gpu:a100:2",
                   "--job-name=train", "--mem-per-gpu=100", "--network=ib", "--ntasks=4", "--time=30"}));
  EXPECT_EQ(job.warnings, Words());
}

TEST(SubmittedFields, NodesAreARangeOrAText) {
  EXPECT_EQ(asked(R"({"minimum_nodes": 2, "maximum_nodes": 4})").options, (Words{"--nodes=2-4"}));
  EXPECT_EQ(asked(R"({"minimum_nodes": 3})").options, (Words{"--nodes=3"}));
  EXPECT_EQ(asked(R"({"nodes": "1-2", "minimum_nodes": 3})").options, (Words{"--nodes=1-2"}));
}

TEST(SubmittedFields, LeastCpusAreTasksWhereNothingElseSaysHowMany) {
  EXPECT_EQ(asked(R"({"minimum_cpus": 6})").options, (Words{"--ntasks=6"}));
  EXPECT_EQ(asked(R"({"minimum_cpus": 6, "tasks": 3})").options, (Words{"--ntasks=3"}));
}

TEST(SubmittedFields, WordsOfBothLanguages) {
  EXPECT_EQ(asked(R"({"mail_type": ["END", "TIME=80%", "TIME=100%", "INVALID_DEPENDENCY"]})").options,
            (Words{"--mail-type=END,TIME_LIMIT_80,TIME_LIMIT,INVALID_DEPEND"}));
  EXPECT_EQ(asked(R"({"shared": ["user"]})").options, (Words{"--exclusive=user"}));
  EXPECT_EQ(asked(R"({"exclusive": ["true"]})").options, (Words{"--exclusive"}));
  EXPECT_EQ(asked(R"({"oversubscribe": true})").options, (Words{"--oversubscribe"}));
  EXPECT_EQ(asked(R"({"open_mode": ["APPEND"]})").options, (Words{"--open-mode=append"}));
  EXPECT_EQ(asked(R"({"requeue": false})").options, (Words{"--no-requeue"}));
  EXPECT_EQ(asked(R"({"kill_on_node_fail": false})").options, (Words{"--no-kill"}));
}

TEST(SubmittedFields, OptionsOfSeveralFields) {
  EXPECT_EQ(asked(R"({"kill_warning_signal": "USR1", "kill_warning_delay": {"set": true, "number": 90},
                        "kill_warning_flags": ["BATCH_JOB"]})")
                .options,
            (Words{"--signal=B:USR1@90"}));
  EXPECT_EQ(asked(R"({"required_switches": {"set": true, "number": 1}, "wait_for_switch": 95})").options,
            (Words{"--switches=1@1:35"}));
  EXPECT_EQ(asked(R"({"delay_boot": {"set": true, "number": 90}})").options, (Words{"--delay-boot=2"}));
}

TEST(SubmittedFields, WhatCannotBeAskedIsNamed) {
  const Asked job = asked(R"({"flags": ["SPREAD_JOB", "TOP_PRIO_TMP"], "maximum_cpus": 4, "script": "x"})");
  EXPECT_EQ(job.options, (Words{"--spread-job"}));
  EXPECT_EQ(job.warnings,
            (Words{"Ignoring flag \"TOP_PRIO_TMP\"", "Ignoring unknown field \"maximum_cpus\""}));
}

}  // namespace
}  // namespace minke::portal
