// Opening, writing, loading and the small reads. Reports: query_test.cpp. Power cuts, full disks:
// fault_test.cpp.
#include "store/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "model/cluster.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "store/job_row.h"
#include "store/repair.h"
#include "store/testing.h"

namespace minke::store {
namespace {

using testing::array_task;
using testing::commit;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::job_row;
using testing::open_store;
using testing::spec_row;
using testing::step_row;

class StoreTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_.file("state.db"); }
  void reopen() {
    store_.reset();
    store_ = open_store(path());
  }
  // The message of `Store::open` for this path.
  std::string open_error() const {
    auto store = Store::open(path());
    return store ? "opened" : store.error().message;
  }
  static void execute(const std::string& path, const char* sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }

  testing::TemporaryDirectory directory_;
  std::unique_ptr<Store> store_;
};

model::NodeRecord node(const std::string& name) {
  model::NodeRecord record;
  record.set_name(name);
  return record;
}

std::vector<uint32_t> ids(const std::vector<JobRow>& rows) {
  std::vector<uint32_t> result;
  for (const auto& row : rows) result.push_back(row.record.job_id());
  return result;
}

TEST(ContentHash, IsSha256) {
  const ContentHash hash = hash_content("abc");
  ASSERT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash.substr(0, 4), "\xba\x78\x16\xbf");
  EXPECT_EQ(hash.substr(28), std::string("\xf2\x00\x15\xad", 4));
  EXPECT_NE(hash_content(""), hash);
}

TEST_F(StoreTest, CreatesTheDatabaseForItsOwnerOnly) {
  const mode_t umask_before = ::umask(0);
  reopen();
  ASSERT_TRUE(commit(*store_, {.jobs = {job_row(1)}}));
  ::umask(umask_before);
  for (const char* suffix : {"", "-wal", "-shm", "-lock"}) {
    struct stat status;
    ASSERT_EQ(::stat((path() + suffix).c_str(), &status), 0) << suffix;
    EXPECT_EQ(status.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(StoreTest, AnEmptyDatabaseLoadsAsNothing) {
  reopen();
  auto loaded = store_->load();
  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->active_jobs, IsEmpty());
  EXPECT_THAT(loaded->specs, IsEmpty());
  EXPECT_THAT(loaded->active_steps, IsEmpty());
  EXPECT_TRUE(loaded->rows.empty());
  EXPECT_EQ(loaded->highest_job_id, 0u);
}

TEST_F(StoreTest, LoadsWhatIsActiveWithItsSpecsAndSteps) {
  reopen();
  Batch batch;
  batch.jobs = {job_row(9, model::JOB_RUNNING),    job_row(7),
                job_row(8, model::JOB_FAILED),     job_row(5, model::JOB_SUSPENDED),
                job_row(40, model::JOB_CANCELLED), job_row(6, model::JOB_COMPLETE)};
  batch.jobs.back().record.set_completing(true);
  batch.jobs.push_back(array_task(10, 7, 3, model::JOB_RUNNING));
  batch.specs = {spec_row(9), spec_row(7), spec_row(8), spec_row(5)};
  batch.steps = {step_row(9, model::STEP_NORMAL, 1), step_row(9, model::STEP_BATCH),
                 step_row(9, model::STEP_NORMAL), step_row(8, model::STEP_BATCH)};
  batch.rows = {kNodes.row(node("b")), kNodes.row(node("a")), testing::probe_row(41)};
  ASSERT_TRUE(commit(*store_, std::move(batch)));
  reopen();

  auto loaded = store_->load();
  ASSERT_TRUE(loaded);
  EXPECT_THAT(ids(loaded->active_jobs), ElementsAre(5, 6, 7, 9, 10));
  std::vector<uint32_t> spec_ids;
  for (const auto& spec : loaded->specs) spec_ids.push_back(spec.spec_id);
  EXPECT_THAT(spec_ids, ElementsAre(5, 7, 9));
  ASSERT_EQ(loaded->active_steps.size(), 3u);
  EXPECT_EQ(loaded->active_steps[0].step_id(), 0u);
  EXPECT_EQ(loaded->active_steps[1].step_id(), 1u);
  EXPECT_EQ(loaded->active_steps[2].kind(), model::STEP_BATCH);
  EXPECT_EQ(loaded->rows.read(kNodes).at(0).name(), "a");
  EXPECT_EQ(loaded->rows.read(kNodes).at(1).name(), "b");
  EXPECT_EQ(testing::probed(*loaded), 41u);
  EXPECT_EQ(loaded->highest_job_id, 40u);
}

TEST_F(StoreTest, ARowComesBackAsItWent) {
  reopen();
  JobRow row = job_row(4'294'967'295U, model::JOB_FAILED, 3);
  row.spec_id = 17;
  row.owner = std::string("pid\0 12", 7);
  row.script.clear();
  const std::string stored = row.record.SerializeAsString();
  row.record.mutable_spec()->set_name("must not be stored here");
  ASSERT_TRUE(commit(*store_, {.jobs = {row}}));
  reopen();
  auto found = store_->job(4'294'967'295U);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->record.SerializeAsString(), stored);
  EXPECT_EQ((*found)->spec_id, 17u);
  EXPECT_EQ((*found)->owner, row.owner);
  EXPECT_EQ((*found)->script, "");
  EXPECT_EQ((*found)->environment, row.environment);
  EXPECT_EQ(store_->load()->highest_job_id, 4'294'967'295U);
}

TEST_F(StoreTest, JobGivesTheLatestRun) {
  reopen();
  ASSERT_TRUE(commit(
      *store_, {.jobs = {job_row(4), job_row(5, model::JOB_NODE_FAIL, 0), job_row(5, model::JOB_NODE_FAIL, 1),
                         job_row(5, model::JOB_PENDING, 2), job_row(6)}}));
  EXPECT_EQ((*store_->job(5))->record.restarts(), 2u);
  EXPECT_EQ((*store_->job(4))->record.restarts(), 0u);
  EXPECT_FALSE(*store_->job(3));
  EXPECT_FALSE(*store_->job(7));
  EXPECT_THAT(ids(store_->load()->active_jobs), ElementsAre(4, 5, 6));
}

TEST_F(StoreTest, TheLastWriteWinsInABatchInAGroupAndLater) {
  reopen();
  Batch batch;
  batch.jobs = {job_row(1), job_row(1, model::JOB_RUNNING)};
  batch.specs = {spec_row(1, "a"), spec_row(1, "b")};
  batch.rows = {testing::probe_row(1), testing::probe_row(2)};
  ASSERT_TRUE(commit(*store_, std::move(batch)));
  EXPECT_EQ((*store_->job(1))->record.state(), model::JOB_RUNNING);
  EXPECT_EQ(store_->load()->specs.at(0).spec.name(), "b");
  EXPECT_EQ(testing::probed(*store_->load()), 2u);

  // While the first is being synced the others gather in one group.
  store_->commit({.jobs = {job_row(1, model::JOB_SUSPENDED)}}, nullptr);
  for (uint64_t i = 0; i < 100; ++i) store_->commit({.rows = {testing::probe_row(i)}}, nullptr);
  ASSERT_TRUE(commit(*store_, {.jobs = {job_row(1, model::JOB_COMPLETE)}}));
  EXPECT_EQ((*store_->job(1))->record.state(), model::JOB_COMPLETE);
  EXPECT_EQ(testing::probed(*store_->load()), 99u);
  EXPECT_THAT(store_->load()->active_jobs, IsEmpty());
}

TEST_F(StoreTest, CallbacksComeInOrderAndAfterTheCommit) {
  reopen();
  std::vector<uint32_t> done;  // only the store's thread writes it; read after the last
  for (uint32_t id = 1; id <= 500; ++id) {
    store_->commit({.jobs = {job_row(id)}}, [&done, id](Status status) {
      if (status) done.push_back(id);
    });
  }
  ASSERT_TRUE(commit(*store_, {}));  // an empty batch: done after all before it
  ASSERT_EQ(done.size(), 500u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_TRUE(*store_->job(500));
}

TEST_F(StoreTest, ClosingWaitsForWhatWasHandedIn) {
  reopen();
  std::atomic<int> done = 0;
  for (uint32_t id = 1; id <= 300; ++id) {
    store_->commit({.jobs = {job_row(id)}}, [&](Status status) { done += status ? 1 : 0; });
  }
  store_.reset();
  EXPECT_EQ(done, 300);
  reopen();
  EXPECT_EQ(store_->load()->active_jobs.size(), 300u);
}

TEST_F(StoreTest, GroupsLargerThanOneTransaction) {
  reopen();
  std::atomic<int> done = 0;
  for (uint32_t id = 0; id < 50; ++id) {
    Batch batch;
    for (uint32_t i = 1; i <= 1000; ++i) batch.jobs.push_back(job_row(id * 1000 + i));
    store_->commit(std::move(batch), [&](Status status) { done += status ? 1 : 0; });
  }
  ASSERT_TRUE(commit(*store_, {}));
  EXPECT_EQ(done, 50);
  EXPECT_EQ(store_->load()->active_jobs.size(), 50'000u);
}

TEST_F(StoreTest, ContentsAreKeptOnceByTheirHash) {
  reopen();
  const std::string script = "#!/bin/sh\necho " + std::string(100'000, 'x');
  const std::string binary("\0\xff\n", 3);
  for (int i = 0; i < 3; ++i) {
    Batch batch;
    batch.contents = {
        {hash_content(script), script}, {hash_content(script), script}, {hash_content(binary), binary}};
    ASSERT_TRUE(commit(*store_, std::move(batch)));
  }
  ASSERT_TRUE(commit(*store_, {.contents = {{hash_content(""), ""}}}));
  EXPECT_EQ(**store_->content(hash_content(script)), script);
  EXPECT_EQ(**store_->content(hash_content(binary)), binary);
  EXPECT_EQ(**store_->content(hash_content("")), "");
  EXPECT_FALSE(*store_->content(hash_content("other")));
  store_.reset();
  EXPECT_LT(std::filesystem::file_size(path()), 270'000u);
}

TEST_F(StoreTest, ASubmissionIsFoundByItsKey) {
  reopen();
  const std::string key("0123456789abcde\0", 16);
  const std::string other("0123456789abcde\1", 16);
  EXPECT_FALSE(*store_->submission(key));
  ASSERT_TRUE(commit(*store_, {.jobs = {job_row(12)}, .submissions = {{key, 12}}}));
  EXPECT_EQ(**store_->submission(key), 12u);
  ASSERT_TRUE(commit(*store_, {.submissions = {{key, 12}}}));
  reopen();
  EXPECT_EQ(**store_->submission(key), 12u);
  EXPECT_FALSE(*store_->submission(other));
}

TEST_F(StoreTest, ArrayOutcomeCountsTheLatestRunsThatEnded) {
  reopen();
  Batch batch;
  for (uint32_t task = 1; task <= 20; ++task) batch.jobs.push_back(array_task(100 + task, 100, task));
  batch.jobs[0].record.set_exit_code(256);
  batch.jobs[1].record.set_state(model::JOB_CANCELLED);  // exit code 0, but no success
  batch.jobs[2].record.set_state(model::JOB_RUNNING);
  batch.jobs[3].record.set_state(model::JOB_PENDING);
  // Task 5 failed on its node and ran again with success; task 6 succeeded, was requeued and waits.
  batch.jobs[4].record.set_state(model::JOB_NODE_FAIL);
  batch.jobs.push_back(array_task(105, 100, 5));
  batch.jobs.back().record.set_restarts(1);
  batch.jobs.push_back(array_task(106, 100, 6, model::JOB_PENDING));
  batch.jobs.back().record.set_restarts(1);
  batch.jobs.push_back(array_task(200, 99, 1));
  batch.jobs.push_back(job_row(100, model::JOB_PENDING));  // the record of pending tasks
  batch.jobs.back().record.set_array_job_id(100);
  ASSERT_TRUE(commit(*store_, std::move(batch)));

  auto outcome = store_->array_outcome(100);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->ended, 17u);
  EXPECT_EQ(outcome->succeeded, 15u);
  EXPECT_EQ(store_->array_outcome(4)->ended, 0u);

  JobRow cancelled = job_row(100, model::JOB_CANCELLED);
  cancelled.record.set_array_job_id(100);
  ASSERT_TRUE(commit(*store_, {.jobs = {cancelled}}));
  EXPECT_EQ(store_->array_outcome(100)->ended, 18u);
  EXPECT_EQ(store_->array_outcome(100)->succeeded, 15u);
}

TEST_F(StoreTest, ATaskOfAnArrayIsFoundByItsIndex) {
  reopen();
  Batch batch;
  for (uint32_t task = 0; task < 5; ++task) batch.jobs.push_back(array_task(100 + task, 99, task));
  batch.jobs.push_back(array_task(102, 99, 2, model::JOB_RUNNING));
  batch.jobs.back().record.set_restarts(1);
  batch.jobs.push_back(array_task(200, 98, 2));
  batch.jobs.push_back(job_row(99));
  batch.jobs.back().record.set_array_job_id(99);
  ASSERT_TRUE(commit(*store_, std::move(batch)));
  EXPECT_EQ((*store_->array_task(99, 0))->record.job_id(), 100u);
  EXPECT_EQ((*store_->array_task(99, 2))->record.job_id(), 102u);
  EXPECT_EQ((*store_->array_task(99, 2))->record.restarts(), 1u);
  EXPECT_FALSE(*store_->array_task(99, 5));
  EXPECT_FALSE(*store_->array_task(97, 0));
}

// Each kind has one unreadable row beside a sound one: the sound one is loaded, the other is named and kept
// until a repair; after that it is not mentioned any more.
TEST_F(StoreTest, WhatCannotBeReadIsNamedAndSetAsideAndTheRestIsLoaded) {
  reopen();
  Batch batch;
  batch.jobs = {job_row(5), job_row(6), job_row(70)};
  batch.specs = {spec_row(5), spec_row(6)};
  batch.steps = {step_row(5, model::STEP_BATCH), step_row(5, model::STEP_NORMAL, 1)};
  batch.rows = {kNodes.row(node("a")), kNodes.row(node("b"))};
  ASSERT_TRUE(commit(*store_, std::move(batch)));
  store_.reset();
  execute(
      path(),
      "UPDATE jobs SET record = x'ffff' WHERE run >> 31 = 70; UPDATE specs SET record = x'ffff' WHERE "
      "spec_id = 6; UPDATE steps SET record = x'' WHERE step >> 32 = 1; UPDATE nodes SET record = (SELECT "
      "record FROM nodes WHERE name = 'b') WHERE name = 'a'");
  reopen();
  auto loaded = store_->load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(ids(loaded->active_jobs), ElementsAre(5, 6));
  EXPECT_EQ(loaded->specs.size(), 1u);
  EXPECT_EQ(loaded->active_steps.size(), 1u);
  ASSERT_EQ(loaded->rows.read(kNodes).size(), 1u);
  std::vector<std::string> names;
  for (const DamagedRow& row : loaded->rows.damaged()) names.push_back(in_words(row));
  EXPECT_THAT(names, ElementsAre("job 70", "submission 6", "step 5.batch", "node a"));
  ASSERT_TRUE(commit(*store_, {.set_aside = loaded->rows.damaged()}));
  for (int start = 0; start < 2; ++start) {
    EXPECT_THAT(*store_->set_aside(), ElementsAreArray(names));
    EXPECT_THAT(store_->load()->rows.damaged(), IsEmpty());
    EXPECT_EQ(store_->load()->highest_job_id, 70u) << "its number is not given out again";
    reopen();
  }
  store_.reset();
  const auto repaired = repair(path());
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_TRUE(repaired->was_sound);
  EXPECT_THAT(repaired->set_aside, ElementsAreArray(names));
  EXPECT_THAT(repair(path())->set_aside, IsEmpty());
  reopen();
  EXPECT_THAT(*store_->set_aside(), IsEmpty());
  EXPECT_EQ(store_->load()->highest_job_id, 70u);
}

TEST_F(StoreTest, ARowThatWasWrittenAgainMeanwhileStays) {
  reopen();
  ASSERT_TRUE(commit(*store_, {.rows = {kNodes.row(node("a")), kNodes.row(node("b"))}}));
  const DamagedRow earlier{.table = Table::kNodes, .key = "a", .record = "as it was once"};
  const DamagedRow present{.table = Table::kNodes, .key = "b", .record = node("b").SerializeAsString()};
  // Another row takes the place of the second in the same batch.
  ASSERT_TRUE(commit(*store_, {.rows = {kNodes.row(node("b"))}, .set_aside = {earlier, present}}));
  EXPECT_EQ(store_->load()->rows.read(kNodes).size(), 2u);
  EXPECT_THAT(*store_->set_aside(), ElementsAre("node b"));
}

TEST_F(StoreTest, AReportPassesOverWhatCannotBeRead) {
  reopen();
  Batch batch;
  batch.jobs = {job_row(5, model::JOB_FAILED), job_row(6, model::JOB_FAILED), job_row(7, model::JOB_FAILED)};
  batch.specs = {spec_row(5), spec_row(6), spec_row(7)};
  batch.steps = {step_row(7, model::STEP_BATCH), step_row(7, model::STEP_NORMAL, 1)};
  batch.series = {{.job_id = 7, .restarts = 0, .series = "\xff"}};
  ASSERT_TRUE(commit(*store_, std::move(batch)));
  store_.reset();
  execute(path(),
          "UPDATE jobs SET record = x'ffff' WHERE run >> 31 = 5; UPDATE specs SET record = x'ffff' WHERE "
          "spec_id = 6; UPDATE steps SET record = x'ffff' WHERE step >> 32 = 0");
  reopen();
  const auto answer = testing::query(*store_, {.with_steps = true});
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(answer->jobs.size(), 2u);
  EXPECT_EQ(answer->jobs[0].spec.name(), "");
  EXPECT_EQ(answer->jobs[1].steps.size(), 1u);
  EXPECT_FALSE(*store_->series(7, 0));
  EXPECT_FALSE(*store_->job(5));
  ASSERT_TRUE(commit(*store_, {.jobs = {job_row(8)}}));  // what was found is handed in before it
  EXPECT_THAT(*store_->set_aside(), ElementsAre("job 5", "submission 6", "step 7.1", "series 7"));
}

TEST_F(StoreTest, ASecondStoreIsRefused) {
  reopen();
  EXPECT_THAT(open_error(), HasSubstr("in use by another process"));
  ASSERT_TRUE(commit(*store_, {.jobs = {job_row(1)}}));
  store_.reset();
  EXPECT_EQ(open_error(), "opened");
}

TEST_F(StoreTest, AFileThatIsNoDatabaseIsLeftAlone) {
  const std::string text =
      "These are my notes, and they are longer than a header.\n" + std::string(5000, '.');
  std::ofstream(path()) << text;
  EXPECT_THAT(open_error(), HasSubstr(path() + " is not a database"));
  std::ifstream file(path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

TEST_F(StoreTest, ADatabaseOfAnotherProgramIsRefused) {
  execute(path(), "CREATE TABLE bookmarks(url TEXT)");
  EXPECT_THAT(open_error(), HasSubstr("database of another program"));
}

TEST_F(StoreTest, ANewerSchemaIsRefused) {
  reopen();
  store_.reset();
  execute(path(), "PRAGMA user_version = 99");
  EXPECT_THAT(open_error(), HasSubstr("newer version (schema 99, this program knows"));
}

// Otherwise a damaged page could take the rest with it: see schema.h.
TEST_F(StoreTest, TheSchemaFitsOnTheFirstPage) {
  reopen();
  store_.reset();
  std::ifstream file(path(), std::ios::binary);
  file.seekg(100);
  constexpr int kLeaf = 13;  // of a table, by SQLite's file format
  EXPECT_EQ(file.get(), kLeaf);
}

TEST_F(StoreTest, DamageIsReportedWithTheWayOut) {
  reopen();
  Batch batch;
  for (uint32_t id = 1; id <= 2000; ++id) batch.jobs.push_back(job_row(id));
  ASSERT_TRUE(commit(*store_, std::move(batch)));
  store_.reset();
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path()));
    for (std::streamoff page = size / 4096 / 2 * 4096; page < size; page += 4096) {
      file.seekp(page);
      file << std::string(100, '\xff');
    }
  }
  reopen();
  auto loaded = store_->load();
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("is damaged"));
  EXPECT_THAT(loaded.error().message, HasSubstr("minke doctor --repair"));
}

// Root may write everywhere, so the test drops its rights.
TEST_F(StoreTest, AReadOnlyDirectoryIsReported) {
  reopen();
  store_.reset();
  const std::string database = path();
  for (const bool exists : {true, false}) {
    if (!exists) std::filesystem::remove(database);
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0555), 0);
    const uid_t uid = ::geteuid();
    if (uid == 0) {
      ASSERT_EQ(::seteuid(65534), 0);
    }
    const std::string message = open_error();
    if (uid == 0) {
      ASSERT_EQ(::seteuid(0), 0);
    }
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
    EXPECT_THAT(message, HasSubstr("Permission denied"));
    EXPECT_THAT(message, HasSubstr(database));
  }
}

TEST_F(StoreTest, AReadOnlyFileIsReported) {
  if (::geteuid() == 0 && ::chown(directory_.path().c_str(), 65534, 65534) != 0) FAIL();
  if (::geteuid() == 0) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  reopen();
  store_.reset();
  ASSERT_EQ(::chmod(path().c_str(), 0400), 0);
  const std::string message = open_error();
  if (::getuid() == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(message, HasSubstr("not writable"));
}

TEST_F(StoreTest, APlaceThatDoesNotExistIsReported) {
  auto store = Store::open(directory_.file("none/state.db"));
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("none/state.db"));
  EXPECT_EQ(store.error().code, ENOENT);
}

}  // namespace
}  // namespace minke::store
