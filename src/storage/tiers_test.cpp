#include "storage/tiers.h"

#include <gtest/gtest.h>

namespace minke::storage {
namespace {

TEST(Tiers, profiles_and_paths) {
  for (const auto name : profile_names()) {
    const auto tiers = profile_tiers(name, "/data");
    ASSERT_TRUE(tiers) << name;
    EXPECT_EQ(tier_path(tiers->front(), "alice", "def-bob", "/home/alice"), "/home/alice");
    for (const Tier& tier : *tiers) EXPECT_GE(tier.hard_space, tier.space) << name;
  }
  const auto narval = profile_tiers("narval", "/data");
  EXPECT_TRUE((*narval)[0].backed_up && !(*narval)[1].backed_up && (*narval)[3].backed_up);
  EXPECT_EQ((*narval)[3].in_jobs, InJobs::kNo);
  EXPECT_EQ(tier_path((*narval)[1], "alice", "def-bob", ""), "/data/scratch/alice");
  EXPECT_EQ(tier_path((*narval)[2], "alice", "def-bob", ""), "/data/project/def-bob");
  EXPECT_FALSE(tier_path((*narval)[1], "../etc", "", ""));
  EXPECT_FALSE(tier_path((*narval)[1], "", "", ""));
  EXPECT_FALSE(profile_tiers("nowhere", ""));
}

TEST(Tiers, variables_of_a_job_and_of_a_login_shell) {
  const auto narval = profile_tiers("narval", "/data");
  EXPECT_EQ(tier_variables(*narval, "alice", "def-bob", "/tmp/job7"),
            (std::vector<std::string>{"SCRATCH=/data/scratch/alice", "PROJECT=/data/project/def-bob",
                                      "LOCAL_SCRATCH=/tmp/job7"}));
  const auto alex = profile_tiers("alex", "");
  EXPECT_EQ(tier_variables(*alex, "alice", "bob", ""),
            (std::vector<std::string>{"HPCVAULT=/home/vault/bob/alice", "WORK=/home/woody/bob/alice"}));
}

TEST(Tiers, a_group_may_have_limits_of_its_own) {
  Tier project = (*profile_tiers("narval", "/data"))[2];
  project.group_limits.push_back({"def-bob", 40'000, 50'000, 0, 0});
  const Tier bobs = tier_for_group(project, "def-bob"), others = tier_for_group(project, "def-eve");
  EXPECT_EQ(bobs.space, 40'000u);
  EXPECT_EQ(bobs.hard_space, 50'000u);
  EXPECT_EQ(bobs.files, project.files);
  EXPECT_EQ(others.space, project.space);
}

TEST(Tiers, a_nodes_own_directory_is_not_below_the_root) {
  const auto sharcnet = profile_tiers("sharcnet", "/data");
  EXPECT_EQ(sharcnet->back().path, "/tmp/%u");
  EXPECT_EQ(tier_path(sharcnet->back(), "alice", "", ""), "/tmp/alice");
  for (const Tier& tier : *sharcnet) EXPECT_FALSE(tier.purpose.empty()) << tier.name;
}

TEST(Tiers, sizes_as_reports_print_them) {
  const uint64_t gib = uint64_t{1} << 30;
  EXPECT_EQ(report_size(20 * gib, 1024, "B") + "/" + report_size(25 * gib, 1024, "B"), "  20GiB/  25GiB");
  EXPECT_EQ(report_size(148 * gib, 1024, "B"), " 148GiB");
  EXPECT_EQ(report_size(4096, 1024, "B"), "4096  B");
  EXPECT_EQ(report_size(208'000, 1000, "") + "/" + report_size(250'000, 1000, ""), " 208K/ 250K");
  EXPECT_EQ(report_size(20'000'000'000'000, 1000, "B"), "  20TB");
  EXPECT_EQ(nicer_size(86'200'000'000), "86.2G");
  EXPECT_EQ(nicer_size(982'100'000), "982.1M");
  EXPECT_EQ(nicer_files(20'517), "20,517");
  EXPECT_EQ(nicer_files(1'000'000), "1,000K");
}

}  // namespace
}  // namespace minke::storage
