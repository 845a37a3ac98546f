#include "text/dependency.h"

#include <gtest/gtest.h>

#include "model/job_terms.pb.h"

namespace minke::text {
namespace {

// Job 23 is an array, as in the runs of Slurm 22.05 that gave the expected texts.
std::string shown(std::string_view text) {
  auto list = parse_dependencies(text);
  if (!list) return list.error().message;
  for (model::Dependency& term : list->terms)
    term.set_whole_array(term.job_id() == 23 && !term.has_array_task_id());
  return format_dependencies(*list);
}

TEST(Dependency, ShownAsSqueueShowsThem) {
  const struct {
    const char *text, *shown;
  } cases[] = {
      {"afterok:23:24,afterany:25",
       "afterok:23_*(unfulfilled),afterok:24(unfulfilled),afterany:25(unfulfilled)"},
      {"afterany:23?afterok:24", "afterany:23_*(unfulfilled)?afterok:24(unfulfilled)"},
      {"singleton", "singleton(unfulfilled)"},
      {"Singleton", "singleton(unfulfilled)"},
      {"after:23+10", "after:23_*+10(unfulfilled)"},
      {"after:24+10:25", "after:24+10(unfulfilled),after:25+10(unfulfilled)"},  // so since 24.11
      {"afterany:5_[1-2,4]", "afterany:5_1(unfulfilled),afterany:5_2(unfulfilled),afterany:5_4(unfulfilled)"},
      {"after:5_[1-3:2]+5:24,afterok:6",
       "after:5_1(unfulfilled),after:5_3+5(unfulfilled),after:24+5(unfulfilled),afterok:6(unfulfilled)"},
      {"afterok:+24", "afterok:24(unfulfilled)"},
      {"afternotok:23_1", "afternotok:23_1(unfulfilled)"},
      {"afterok:23_*", "afterok:23_*(unfulfilled)"},
      {"aftercorr:23", "aftercorr:23_*(unfulfilled)"},
      {"AFTEROK:23", "afterok:23_*(unfulfilled)"},
      {"23", "afterany:23_*(unfulfilled)"},
      {"singleton,afterok:23", "singleton(unfulfilled),afterok:23_*(unfulfilled)"},
      {"afterok:23?afterok:24,afterok:25",
       "afterok:23_*(unfulfilled)?afterok:24(unfulfilled)?afterok:25(unfulfilled)"},
      {"after:23_1+5", "after:23_1+5(unfulfilled)"},
      {"afterok: 23", "afterok:23_*(unfulfilled)"},
      {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(shown(c.text), c.shown) << c.text;
}

TEST(Dependency, Refuses) {
  for (const char* text : {"foo",
                           "foo:1",
                           "afterok",
                           "afterok:",
                           "afterok:x",
                           "afterok:23,",
                           "23:24",
                           "afterok:23:",
                           "singleton:3",
                           "after:23+",
                           "after:23+x",
                           "afterok:0",
                           ",",
                           "?",
                           "afterok:-1",
                           "afterok:4294967296",
                           "afterok:1_",
                           "afterok:1_x",
                           "afterok:1_4000002",
                           "after:23+0",
                           "afterok:23 ",
                           "afterok:1_[]",
                           "afterok:1_[1",
                           "afterok:1_[1]x",
                           "afterok:1_[0-200000]"}) {
    EXPECT_EQ(shown(text), "Job dependency problem") << text;
  }
}

TEST(Dependency, WhatIsNamedTwiceCountsOnce) {
  const auto list = parse_dependencies("afterok:5:6:5,after:5+1:5,afterok:6_1");
  ASSERT_TRUE(list);
  EXPECT_EQ(format_dependencies(*list),
            "afterok:5(unfulfilled),afterok:6(unfulfilled),after:5+1(unfulfilled),afterok:6_1(unfulfilled)");
}

TEST(Dependency, StatesAreShown) {
  auto list = *parse_dependencies("afterok:1,afterany:2,afternotok:3");
  list.terms[0].set_status(model::DEPENDENCY_FULFILLED);
  list.terms[2].set_status(model::DEPENDENCY_FAILED);
  EXPECT_EQ(format_dependencies(list), "afterany:2(unfulfilled),afternotok:3(failed)");
}

TEST(Dependency, RequestsAreReadBack) {
  for (const char* text :
       {"afterok:1,afterok:2", "after:5+10?singleton", "afternotok:3_4", "afterburstbuffer:7"}) {
    EXPECT_EQ(format_dependency_request(*parse_dependencies(text)), text);
  }
  const auto whole = *parse_dependencies("afterok:5_*+3,afterok:6");
  EXPECT_EQ(format_dependency_request(whole, true), "afterok:5_*+3,afterok:6");
  EXPECT_EQ(format_dependency_request(whole), "afterok:5+3,afterok:6");
}

}  // namespace
}  // namespace minke::text
