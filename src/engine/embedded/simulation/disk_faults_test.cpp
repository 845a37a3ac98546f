// A disk that fails some writes and later recovers.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "engine/embedded/core.h"
#include "engine/embedded/simulation/one_machine.h"
#include "node/journal.h"
#include "node/journal.pb.h"
#include "node/launcher.h"
#include "node/recording.h"

namespace minke::engine::simulation {
namespace {

using namespace model;
using std::chrono::seconds;

node::JournalRecord launching(uint32_t job_id) {
  node::JournalRecord record;
  record.mutable_launching()->mutable_id()->set_job_id(job_id);
  record.mutable_launching()->mutable_id()->set_kind(STEP_BATCH);
  record.mutable_launching()->add_ranks(0);
  return record;
}

TEST(DiskFaults, TheJournalTakesRecordsOnceTheDiskDoes) {
  store::testing::TemporaryDirectory home;
  Disk disk(home.path());
  const std::string path = home.path() + "/journal";
  node::JournalHeader header;
  header.set_id("name");
  auto journal = node::Journal::create(path, header, {});
  ASSERT_TRUE(journal);
  node::LaunchTable table;
  EXPECT_TRUE(node::record(launching(1), *journal, table));
  disk.set_failing(1, 1);  // neither the record is written nor what was written of it cut off
  EXPECT_EQ(node::record(launching(2), *journal, table).error().code, EIO);
  EXPECT_EQ(node::record(launching(3), *journal, table).error().code, EIO);
  disk.set_failing(0, 0);
  EXPECT_TRUE(node::record(launching(4), *journal, table));
  // Those that could not be written are there, too.
  const auto contents = node::Journal::read(path);
  ASSERT_TRUE(contents);
  EXPECT_TRUE(contents->whole);
  node::LaunchTable read;
  for (const node::JournalRecord& record : contents->records) read.apply(record);
  EXPECT_EQ(read.all().size(), 4u);
}

TEST(DiskFaults, AFullDiskWithRoomForARecordTakesIt) {
  store::testing::TemporaryDirectory home;
  Disk disk(home.path());
  const std::string path = home.path() + "/journal";
  auto journal = node::Journal::create(path, {}, {});
  ASSERT_TRUE(journal);
  node::LaunchTable table;
  disk.set_full(true);
  EXPECT_EQ(node::record(launching(1), *journal, table).error().code, ENOSPC);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  disk.set_full(false);
  EXPECT_TRUE(node::record(launching(2), *journal, table));
  EXPECT_EQ(node::Journal::read(path)->records.size(), 2u);
}

TEST(DiskFaults, JobsWaitForADiskThatAnswersAgain) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    OneMachine one;
    std::vector<uint32_t> jobs;
    const int64_t begin = one.machine().now() + 60;
    for (int i = 0; i < 8; ++i)
      jobs.push_back(one.submit("run=10", [&](JobSpec& spec) { spec.set_begin_time(begin); }));
    one.run_for(seconds(55));
    one.disk().set_failing(2, seed);
    one.run_for(seconds(20));
    one.disk().set_failing(0, 0);
    one.run_for(seconds(600));
    for (const uint32_t job_id : jobs)
      EXPECT_EQ(one.record(job_id).state(), JOB_COMPLETE) << "job " << job_id << ", seed " << seed;
    EXPECT_EQ(one.machine().starts().size(), jobs.size()) << "seed " << seed;
  }
}

// Changes that could not be stored are stored together with all later changes, or not at all.
TEST(DiskFaults, AJobIsNotStoredWithoutWhatChangedWithIt) {
  OneMachine one;
  const uint32_t job_id = one.submit("run=100");
  one.run_for(seconds(10));
  ASSERT_EQ(one.record(job_id).state(), JOB_RUNNING);
  one.disk().set_failing(1, 1);
  one.engine().core().committer.job_changed(job_id);  // a group that cannot be stored, and is tried again
  one.run_for(seconds(2));
  one.kill_launcher();
  one.run_for(seconds(10));
  ASSERT_EQ(one.record(job_id).restarts(), 1u);
  one.disk().set_failing(0, 0);
  ASSERT_TRUE(one.run_until([&] {
    const auto stored = one.engine().store().job(job_id);
    return stored && *stored && (*stored)->record.restarts() == 1;
  }));
  one.restart_daemon();
  std::set<uint32_t> runs;
  for (const auto& job : one.accounting())
    if (job.job.record.job_id() == job_id) runs.insert(job.job.record.restarts());
  EXPECT_EQ(runs, (std::set<uint32_t>{0, 1}));
}

}  // namespace
}  // namespace minke::engine::simulation
