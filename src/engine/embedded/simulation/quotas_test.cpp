// Quotas: which users' jobs wait because of their use of a storage tier, for how
// long, and how often it is counted.
#include "engine/embedded/accounts/quotas.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>

#include "engine/embedded/simulation/programs.h"
#include "engine/embedded/simulation/request_test.h"
#include "text/number.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

class QuotasTest : public RequestTest {
 protected:
  struct Used {
    uint64_t space = 0, files = 0;
  };

  // One tier that matters: scratch, with a soft limit of 100 files, and a hard one of 1000.
  void start_with(const std::string& more = "") {
    start("", "[storage]\nprofile = \"fir\"\nroot = \"/big\"\ngrace = 120\ncount_interval = 600\n" + more +
                  "[storage.scratch]\nfiles = 100\nhard_files = 1000\nspace = \"1M\"\n");
    counts_ = 0;
  }
  static std::string scratch(uint32_t uid) { return "/big/scratch/" + std::to_string(uid); }
  // Whether the job that he submits now starts.
  bool starts(uint32_t uid) {
    last_ = submit(uid, [](JobSpec& spec) { spec.set_time_limit_minutes(6000); });
    return state(last_) == JOB_RUNNING;
  }
  std::map<std::string, Used> used_;  // by path; of others nothing
  int counts_ = 0;                    // of scratch
  bool fails_ = false, says_nothing_ = false;
  uint32_t last_ = 0;

 private:
  Result<os::UniqueFd> count(const os::DetachedCommand& command) {
    if (command.argv.at(1) != "storage-count") return failure("not in this test");
    std::string bytes(4096, '\0');
    const ssize_t got = ::pread(command.input, bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    std::string said = "nonsense\n99 1 1 1\n";
    size_t index = 0;
    for (const std::string_view path : text::split(bytes, '\0')) {
      if (path.empty()) continue;
      counts_ += path.starts_with("/big/scratch/");
      const Used used = used_[std::string(path)];
      said += std::to_string(index++) + " " + std::to_string(used.space) + " " + std::to_string(used.files) +
              " 5\n";
    }
    if (fails_) return failure("no process can be started");
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    os::UniqueFd output(ends[0]), written(ends[1]);
    if (!says_nothing_) {
      EXPECT_EQ(::write(written.get(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
    }
    return output;
  }
  StandInForPrograms programs_{[this](const os::DetachedCommand& command) { return count(command); }};
};

TEST_F(QuotasTest, WhoIsOverAHardLimitStartsNothingUntilHeHasLess) {
  start_with();
  used_[scratch(kAlice)].files = 1001;
  EXPECT_TRUE(starts(kAlice));  // nobody has counted yet
  EXPECT_FALSE(starts(kAlice));
  const JobRecord held = shown(last_);
  EXPECT_EQ(held.reason(), WAIT_HELD);
  EXPECT_NE(held.priority(), 0u);  // which is no hold
  EXPECT_EQ(held.reason_detail(), "DiskQuotaExceeded: 1,001 of 100 files in " + scratch(kAlice) +
                                      "; to find them: minke storage scan --top 10 " + scratch(kAlice));
  EXPECT_TRUE(starts(kBob));
  used_[scratch(kAlice)].files = 99;
  engine().pass(31);
  EXPECT_EQ(state(held.job_id()), JOB_RUNNING);
  EXPECT_EQ(shown(held.job_id()).reason_detail(), "");
}

TEST_F(QuotasTest, SpaceCountsAsFilesDo) {
  start_with();
  used_[scratch(kAlice)].space = (uint64_t{1} << 20) + 1;
  EXPECT_TRUE(starts(kAlice));
  EXPECT_FALSE(starts(kAlice));
  EXPECT_EQ(shown(last_).reason_detail().find("DiskQuotaExceeded: 1.00 MiB of 1.00 MiB in "), 0u)
      << shown(last_).reason_detail();
}

TEST_F(QuotasTest, OverASoftLimitOneHasAGraceThatLastsBeyondARestart) {
  start_with();
  used_[scratch(kAlice)].files = 500;
  EXPECT_TRUE(starts(kAlice));
  engine().pass(3600);
  EXPECT_TRUE(starts(kAlice));
  restart();
  engine().pass(3500);
  EXPECT_TRUE(starts(kAlice));
  engine().pass(200);
  EXPECT_FALSE(starts(kAlice));
  const uint32_t held = last_;
  restart();
  EXPECT_EQ(state(held), JOB_PENDING);
  // Who was below it again has the whole of it anew.
  used_[scratch(kAlice)].files = 100;
  engine().pass(40);
  EXPECT_EQ(state(held), JOB_RUNNING);
  used_[scratch(kAlice)].files = 500;
  engine().pass(700);
  EXPECT_TRUE(starts(kAlice));
  engine().pass(7000);
  EXPECT_TRUE(starts(kAlice));
}

TEST_F(QuotasTest, ItIsCountedWhenThatIsDueAndNoOftener) {
  start_with();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(starts(kAlice));
  EXPECT_EQ(counts_, 1);
  engine().pass(599);
  EXPECT_TRUE(starts(kAlice));
  EXPECT_EQ(counts_, 1);
  engine().pass(1);
  EXPECT_TRUE(starts(kAlice));
  EXPECT_EQ(counts_, 2);
  engine().end_one(0, 0);  // a job has ended: soon, but not at once
  EXPECT_TRUE(starts(kAlice));
  EXPECT_EQ(counts_, 2);
  engine().pass(30);
  EXPECT_TRUE(starts(kAlice));
  EXPECT_EQ(counts_, 3);
  engine().pass(100000);  // nobody waits
  EXPECT_EQ(counts_, 3);
}

TEST_F(QuotasTest, WhatCannotBeCountedHoldsNobodyUp) {
  start_with();
  used_[scratch(kAlice)].files = 5000;
  fails_ = true;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(starts(kAlice));
  EXPECT_EQ(counts_, 1);  // it is not tried again for each job
  engine().pass(600);
  fails_ = false;
  says_nothing_ = true;  // it ends too early
  EXPECT_TRUE(starts(kAlice));
  EXPECT_TRUE(starts(kAlice));
  EXPECT_EQ(counts_, 2);
  engine().pass(600);
  says_nothing_ = false;
  EXPECT_TRUE(starts(kAlice));
  EXPECT_FALSE(starts(kAlice));
  says_nothing_ = true;  // what is known stays
  engine().pass(3600);
  EXPECT_EQ(state(last_), JOB_PENDING);
}

TEST_F(QuotasTest, WhereJobsAreNotToWaitNothingIsCounted) {
  start_with("hold_jobs = false\n");
  used_[scratch(kAlice)].files = 5000;
  EXPECT_TRUE(starts(kAlice));
  EXPECT_TRUE(starts(kAlice));
  EXPECT_EQ(counts_, 0);
}

}  // namespace
}  // namespace minke::engine::simulation
