#include "sweep/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "os/files.h"
#include "sweep/record.h"

namespace minke::sweep {
namespace {

class Directory : public testing::Test {
 protected:
  Directory() {
    char name[] = "/tmp/minke-sweep-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Directory() override { (void)!std::system(("rm -rf " + path_).c_str()); }
  std::string path_;
};
using JournalTest = Directory;
using RecordTest = Directory;

constexpr char kFile[] =
    "program: a\nmethod: random\nmetric: {name: l}\nrun_cap: 3\nparameters:\n  x: {min: 0.0, max: 1.0}\n  y: "
    "{values: [a, b]}\n";

TEST_F(JournalTest, LosesNoWholeLineAndNoHalfOneCounts) {
  const std::string path = path_ + "/j";
  {
    auto journal = Journal::open(path);
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->append("one"));
    ASSERT_TRUE(journal->append("two"));
  }
  ASSERT_TRUE(os::replace_file(path, "one\ntwo\nthr", 0600));
  EXPECT_EQ(*Journal::read(path), (std::vector<std::string>{"one", "two"}));
  auto journal = Journal::open(path);
  ASSERT_TRUE(journal->append("four"));
  EXPECT_EQ(*Journal::read(path), (std::vector<std::string>{"one", "two", "four"}));
}

TEST_F(RecordTest, IsTheSameAgainFromItsDirectory) {
  const Settings settings{.work_dir = "/", .seed = 3, .jobs = 2, .trials = 0, .sbatch = {}};
  {
    auto record = Record::create(path_, kFile, settings);
    ASSERT_TRUE(record) << record.error().message;
    ASSERT_TRUE((*record)->steer());
    EXPECT_FALSE((*Record::open(path_))->steer());  // one at a time
    for (int i = 0; i < 2; ++i) {
      const auto next = (*record)->search().next();
      ASSERT_TRUE((*record)->ask(*next, 100));
      ASSERT_TRUE((*record)->begin_run(next->trial, "ab"));
      ASSERT_TRUE((*record)->submitted(next->trial, 7 + static_cast<uint32_t>(i)));
    }
    ASSERT_TRUE((*record)->tell(1, search::Search::End::kComplete, 0.5, "", 200));
  }
  auto again = Record::open(path_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->search().trials().size(), 2u);
  EXPECT_EQ((*again)->search().best()->number, 1u);
  EXPECT_EQ((*again)->trials().at(2).runs.back().job, 8u);
  EXPECT_FALSE((*again)->trials().at(2).runs.back().ended);
  EXPECT_TRUE((*again)->trials().at(1).runs.back().ended);
  // Other options, once a job was submitted, are another sweep.
  Settings other = settings;
  other.jobs = 9;
  EXPECT_TRUE(Record::create(path_, kFile, settings));
  EXPECT_FALSE(Record::create(path_, kFile, other));
}

TEST_F(RecordTest, ADamagedJournalIsToldByItsLine) {
  ASSERT_TRUE(Record::create(path_, kFile, {.work_dir = "/", .sbatch = {}}));
  for (const char* line :
       {"x", "{}", "{\"event\":\"tell\",\"trial\":1}", "{\"event\":\"ask\",\"trial\":1,\"point\":[1]}",
        "{\"event\":\"ask\",\"trial\":1}", "{\"event\":\"ask\",\"trial\":-1,\"point\":[0,0]}"}) {
    ASSERT_TRUE(os::replace_file(path_ + "/journal.jsonl", std::string(line) + "\n", 0600));
    const auto record = Record::open(path_);
    ASSERT_FALSE(record) << line;
    EXPECT_NE(record.error().message.find("journal.jsonl, line 1: "), std::string::npos)
        << record.error().message;
  }
}

TEST_F(RecordTest, DamagedSettingsAreTold) {
  ASSERT_TRUE(Record::create(path_, kFile, {.work_dir = "/", .sbatch = {}}));
  for (const char* text : {"", "[]", "{\"jobs\": \"x\"}", "{\"sbatch\": 1}"}) {
    ASSERT_TRUE(os::replace_file(path_ + "/settings.json", text, 0600));
    EXPECT_FALSE(Record::open(path_)) << text;
  }
}

}  // namespace
}  // namespace minke::sweep
