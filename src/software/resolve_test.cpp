#include "software/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::software {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Available kAvailable = {{"StdEnv", {"2023"}},
                              {"gcc", {"12.2.0"}},
                              {"openmpi", {"4.1.4"}},
                              {"cuda", {"12.2.140"}},
                              {"python", {"2.7.18", "3.9.18", "3.11.2", "3.11.7", "3.13.0"}}};

TEST(Resolve, WhatIsHereStaysAsItIs) {
  const Resolved got = resolve({"StdEnv/2023", "python/3.11", "cuda", "python/3.11.2"}, kAvailable, {});
  EXPECT_THAT(got.modules, ElementsAre("StdEnv/2023", "python/3.11", "cuda", "python/3.11.2"));
  EXPECT_THAT(got.notes, IsEmpty());
}

TEST(Resolve, TheNearestVersionIsSaid) {
  const Resolved got = resolve({"StdEnv/2020", "python/3.12", "cuda/11.4", "gcc/9.3.0"}, kAvailable, {});
  EXPECT_THAT(got.modules, ElementsAre("StdEnv/2023", "python/3.13.0", "cuda/12.2.140", "gcc/12.2.0"));
  ASSERT_EQ(got.notes.size(), 4u);
  EXPECT_EQ(got.notes[1], "python/3.12 is not here: python/3.13.0 instead");
}

TEST(Resolve, UnknownNamesAreLmodsToRefuse) {
  const Resolved got = resolve({"matlab/2024a", "python/4.0", "--force"}, kAvailable, {});
  EXPECT_THAT(got.modules, ElementsAre("--force", "matlab/2024a", "python/4.0"));
  EXPECT_THAT(got.notes, IsEmpty());
}

TEST(Resolve, NamesOfOtherClusters) {
  const Resolved got = resolve({"foss/2023a", "cudnn", "Python/3.11.3-GCCcore-12.3.0"}, kAvailable, {});
  EXPECT_THAT(got.modules, ElementsAre("gcc", "openmpi", "python/3.11.7"));
  EXPECT_THAT(got.notes, ElementsAre(HasSubstr("gcc instead"), HasSubstr("openmpi instead"),
                                     HasSubstr("nothing to load"), HasSubstr("python/3.11.7 instead")));
  // singularity leads to apptainer, which does not exist here either.
  EXPECT_THAT(resolve({"singularity"}, kAvailable, {}).modules, ElementsAre("singularity"));
}

TEST(Resolve, TheSitesAliasesComeFirst) {
  const auto own = parse_aliases(
      "# ours\ncuda/11.4 = cuda\nlab-stack = python/3.9 gcc\npython/3.8 = python/3.9\nlicence =\n");
  ASSERT_TRUE(own);
  const Resolved got = resolve({"cuda/11.4", "lab-stack/7", "python/3.8", "licence"}, kAvailable, *own);
  EXPECT_THAT(got.modules, ElementsAre("cuda", "python/3.9", "gcc"));
  EXPECT_THAT(got.notes, ElementsAre(HasSubstr("cuda/11.4 is not here: cuda instead"),
                                     HasSubstr("lab-stack/7"), HasSubstr("gcc"),
                                     HasSubstr("python/3.8 is not here"), HasSubstr("licence: nothing")));
}

TEST(Aliases, ReadAndWritten) {
  const auto aliases = parse_aliases("a=b c\nx/1 = y/2 # why\n\n");
  ASSERT_TRUE(aliases);
  EXPECT_EQ(format_aliases(*aliases), "a = b c\nx/1 = y/2\n");
  for (const char* bad : {"a", "= b", "a b = c", "a = ../b", "a = $(x)", "-a = b", "a = 'b'"})
    EXPECT_FALSE(parse_aliases(bad)) << bad;
  // Aliases that lead to each other end.
  EXPECT_FALSE(resolve({"p"}, {{"q", {"1"}}}, *parse_aliases("p = q\nq = p\n")).modules.empty());
}

}  // namespace
}  // namespace minke::software
