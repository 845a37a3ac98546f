#include "grow/journal.h"

#include <gtest/gtest.h>

#include <fstream>

#include "os/files.h"
#include "storage/testing.h"

namespace minke::grow {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  Journal open() {
    auto journal = Journal::open(directory_);
    EXPECT_TRUE(journal.has_value()) << journal.error().message;
    return std::move(*journal);
  }
  const storage::TempTree tree_;
  const std::string directory_ = tree_.path();
};

TEST_F(JournalTest, KnowsAfterARestartWhatWasDone) {
  {
    Journal journal = open();
    EXPECT_FALSE(*journal.plan());
    ASSERT_TRUE(journal.keep_plan("{}"));
    ASSERT_TRUE(journal.begin("files n1", "what\twas \"there\"\n\xff"));
    ASSERT_TRUE(journal.begin("slurmd n1", ""));
    ASSERT_TRUE(journal.done("files n1"));
  }
  Journal journal = open();
  EXPECT_EQ(**journal.plan(), "{}");
  EXPECT_EQ(journal.step("files n1").state, StepState::kDone);
  EXPECT_EQ(journal.step("files n1").before.substr(0, 17), "what\twas \"there\"\n");
  EXPECT_EQ(journal.step("slurmd n1").state, StepState::kBegun);
  EXPECT_EQ(journal.step("another").state, StepState::kNew);
  ASSERT_TRUE(journal.undone("files n1"));
  EXPECT_EQ(journal.step("files n1").state, StepState::kUndone);
}

TEST_F(JournalTest, ALineThatWasCutOffAtAnyByteWasNeverWritten) {
  {
    Journal journal = open();
    ASSERT_TRUE(journal.begin("a", "before a"));
    ASSERT_TRUE(journal.done("a"));
  }
  const std::string path = directory_ + "/journal";
  const std::string whole = *os::read_file(path, 1 << 20);
  const size_t first = whole.find('\n') + 1;
  for (size_t end = 0; end <= whole.size(); ++end) {
    std::ofstream(path, std::ios::trunc) << whole.substr(0, end);
    {
      Journal journal = open();
      const StepState expected = end == whole.size() ? StepState::kDone
                                 : end >= first      ? StepState::kBegun
                                                     : StepState::kNew;
      EXPECT_EQ(journal.step("a").state, expected) << end;
      ASSERT_TRUE(journal.begin("b", "later"));  // and the next line is not glued to the rest of it
    }
    Journal journal = open();
    EXPECT_EQ(journal.step("b").state, StepState::kBegun) << end;
  }
}

TEST_F(JournalTest, ZeroesOfALostBlockEndIt) {
  {
    Journal journal = open();
    ASSERT_TRUE(journal.begin("a", ""));
  }
  std::ofstream(directory_ + "/journal", std::ios::app) << std::string(100, '\0') << "\n";
  Journal journal = open();
  EXPECT_EQ(journal.step("a").state, StepState::kBegun);
  ASSERT_TRUE(journal.done("a"));
}

TEST_F(JournalTest, OneProcessAtATimeHasIt) {
  const Journal journal = open();
  const auto second = Journal::open(directory_);
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find("another minke grow"), std::string::npos);
}

TEST_F(JournalTest, ForgetsAllForTheNextPlan) {
  Journal journal = open();
  ASSERT_TRUE(journal.keep_plan("{}"));
  ASSERT_TRUE(journal.begin("a", ""));
  ASSERT_TRUE(journal.confirm());
  EXPECT_TRUE(journal.confirmed());
  ASSERT_TRUE(journal.forget());
  EXPECT_FALSE(*journal.plan());
  EXPECT_FALSE(journal.confirmed());
  EXPECT_EQ(journal.step("a").state, StepState::kNew);
}

}  // namespace
}  // namespace minke::grow
