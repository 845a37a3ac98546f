#include "helpers/task_table.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::helpers {
namespace {

using testing::ElementsAre;

TEST(TaskTable, TellsWhatEndedAlikeInOneLine) {
  TaskTable table(6);
  table.collect(1, "n1", 3 << 8);
  table.collect(5, "n2", SIGKILL);
  table.collect(0, "n1", 3 << 8);
  table.collect(2, "n1", 0);
  EXPECT_THAT(table.tell(), ElementsAre("srun: error: n1: tasks 0-1: Exited with exit code 3",
                                        "srun: error: n2: task 5: Killed"));
  EXPECT_FALSE(table.has_news());
  EXPECT_THAT(table.states("StepId=4.0"),
              ElementsAre("srun: StepId=4.0 tasks 3-4: running", "srun: StepId=4.0 task 2: exited",
                          "srun: StepId=4.0 tasks 0-1,5: exited abnormally"));
  EXPECT_EQ(table.exit_code(), 137);
  EXPECT_FALSE(table.all_ended());
}

}  // namespace
}  // namespace minke::helpers
