// What was reported as committed outlives power cuts at any moment; anything else is there whole or not at
// all. A full or failing disk is reported, harms nothing, and is forgotten when there is room again.
#include "store/fault_vfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <atomic>
#include <cerrno>
#include <optional>

#include "model/step_record.pb.h"
#include "store/job_row.h"
#include "store/store.h"
#include "store/testing.h"

namespace minke::store {
namespace {

using testing::FaultDisk;
using ::testing::HasSubstr;

constexpr uint32_t kBatches = 60;
constexpr uint32_t kJobsPerBatch = 3;

// The log is folded into the database every few batches.
Options options_for(const FaultDisk& disk) {
  return {.sync = true, .vfs = disk.name(), .checkpoint_pages = 40};
}

const Options kWithoutSync = {.sync = false, .vfs = {}};

uint32_t job_of(uint32_t number, uint32_t which) {
  return number * 10 + which;
}
std::string content_of(uint32_t number) {
  return std::string((number * 7919) % 30'000, static_cast<char>('a' + number % 26)) + std::to_string(number);
}
std::string key_of(uint32_t number) {
  std::string key = std::to_string(number);
  return std::string(16 - key.size(), '-') + key;
}

// Rows of every kind; and one row that every batch overwrites.
Batch batch_of(uint32_t number) {
  Batch batch;
  for (uint32_t which = 0; which < kJobsPerBatch; ++which) {
    batch.jobs.push_back(testing::job_row(job_of(number, which)));
    batch.steps.push_back(testing::step_row(job_of(number, which), model::STEP_BATCH));
  }
  batch.specs = {testing::spec_row(job_of(number, 0))};
  batch.contents = {{hash_content(content_of(number)), content_of(number)}};
  batch.submissions = {{key_of(number), job_of(number, 0)}};
  batch.rows = {testing::probe_row(number)};
  return batch;
}

// Returns whether the whole batch is there; false if nothing of it is. Anything between is a failure.
bool is_whole(Store& store, const Loaded& loaded, uint32_t number) {
  size_t parts = 0;
  for (uint32_t which = 0; which < kJobsPerBatch; ++which) {
    auto job = store.job(job_of(number, which));
    EXPECT_TRUE(job) << job.error().message;
    if (job && *job) ++parts;
    for (const auto& step : loaded.active_steps) parts += step.job_id() == job_of(number, which) ? 1 : 0;
  }
  for (const auto& spec : loaded.specs) parts += spec.spec_id == job_of(number, 0) ? 1 : 0;
  auto content = store.content(hash_content(content_of(number)));
  if (content && *content && **content == content_of(number)) ++parts;
  auto submission = store.submission(key_of(number));
  if (submission && *submission && **submission == job_of(number, 0)) ++parts;
  constexpr size_t kParts = 2 * kJobsPerBatch + 3;
  EXPECT_TRUE(parts == 0 || parts == kParts) << "batch " << number << " is there by half: " << parts;
  return parts == kParts;
}

void expect_intact(const std::string& path) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  std::string verdict;
  sqlite3_exec(
      handle, "PRAGMA integrity_check",
      [](void* out, int, char** values, char**) {
        *static_cast<std::string*>(out) += values[0];
        return 0;
      },
      &verdict, nullptr);
  EXPECT_EQ(verdict, "ok");
  sqlite3_close(handle);
}

// Hands in batches, at most `depth` at a time, until all are in or the power goes. Returns how many were
// reported as committed; they are the first ones, because commits are in order.
uint32_t run_until_the_power_goes(const std::string& path, FaultDisk& disk, uint32_t depth) {
  std::atomic<uint32_t> committed = 0, reported = 0;
  auto store = Store::open(path, options_for(disk));
  if (!store) {
    EXPECT_TRUE(disk.power_is_cut()) << store.error().message;
    return 0;
  }
  bool failed = false;  // on the writer's thread
  for (uint32_t number = 1; number <= kBatches && !disk.power_is_cut(); ++number) {
    (*store)->commit(batch_of(number), [&](Status status) {
      EXPECT_FALSE(status && failed) << "committed after the power cut";
      failed |= !status;
      if (status) ++committed;
      ++reported;
      reported.notify_one();
    });
    for (uint32_t seen = reported; number - seen >= depth; seen = reported) reported.wait(seen);
  }
  store->reset();  // waits for the rest
  return committed;
}

void expect_recovered(const std::string& path, uint32_t committed) {
  {
    auto opened = Store::open(path, kWithoutSync);
    ASSERT_TRUE(opened) << opened.error().message;
    Store& store = **opened;
    auto loaded = store.load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    uint32_t present = 0;
    while (present < kBatches && is_whole(store, *loaded, present + 1)) ++present;
    for (uint32_t number = present + 2; number <= kBatches; ++number) {
      EXPECT_FALSE(is_whole(store, *loaded, number)) << "a later batch is there, an earlier one is not";
    }
    EXPECT_GE(present, committed) << "lost what was reported as committed";
    EXPECT_EQ(testing::probed(*loaded), present);
    ASSERT_TRUE(testing::commit(store, batch_of(kBatches + 1)));
    EXPECT_TRUE(*store.job(job_of(kBatches + 1, 0)));
  }
  expect_intact(path);
}

int64_t changes_of_a_whole_run() {
  static const int64_t changes = [] {
    testing::TemporaryDirectory directory;
    FaultDisk disk(0);
    EXPECT_EQ(run_until_the_power_goes(directory.file("state.db"), disk, 1), kBatches);
    return disk.changes();
  }();
  return changes;
}

class PowerCut : public ::testing::TestWithParam<FaultDisk::Survivors> {};

TEST_P(PowerCut, NothingCommittedIsLostAndNothingIsThereByHalf) {
  constexpr uint32_t kCuts = 120;
  uint32_t with_commits = 0, cut = 0;
  for (uint32_t seed = 1; seed <= kCuts; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    testing::TemporaryDirectory before, after;
    FaultDisk disk(seed);
    // Every eighth cut hits the creation of the database.
    const int64_t last = seed % 8 == 0 ? 60 : changes_of_a_whole_run();
    disk.cut_power_at(std::uniform_int_distribution<int64_t>(1, last)(random));
    const uint32_t depth = seed % 3 == 0 ? 1 : 1 + seed % 10;
    const uint32_t committed = run_until_the_power_goes(before.file("state.db"), disk, depth);
    cut += disk.power_is_cut() ? 1 : 0;
    with_commits += committed > 0 ? 1 : 0;
    disk.restore(after.path(), GetParam());
    expect_recovered(after.file("state.db"), committed);
    if (HasFailure()) break;
  }
  // The test is meaningful only if the power was cut, and mostly while there was something to lose.
  EXPECT_GT(cut, kCuts * 3 / 4);
  EXPECT_GT(with_commits, kCuts / 2);
}

std::string name_of(const ::testing::TestParamInfo<FaultDisk::Survivors>& info) {
  constexpr const char* kNames[] = {"NothingUnsyncedSurvives", "RandomSectorsSurvive",
                                    "TheFirstWritesSurvive"};
  return kNames[static_cast<size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Disks, PowerCut,
                         ::testing::Values(FaultDisk::Survivors::kNone, FaultDisk::Survivors::kRandomSectors,
                                           FaultDisk::Survivors::kFirstWrites),
                         name_of);

// The checks above detect a store that does not sync.
TEST(PowerCutWithoutSync, LosesWhatWasReported) {
  testing::TemporaryDirectory before, after;
  FaultDisk disk(1000);
  {
    Options options = options_for(disk);
    options.sync = false;
    auto store = testing::open_store(before.file("state.db"), options);
    ASSERT_TRUE(testing::commit(*store, batch_of(1)));
    disk.cut_power_at(disk.changes() + 1);
  }
  disk.restore(after.path(), FaultDisk::Survivors::kNone);
  auto store = testing::open_store(after.file("state.db"));
  EXPECT_FALSE(*store->job(job_of(1, 0)));
}

TEST(FullDisk, IsReportedAndForgottenWhenThereIsRoom) {
  uint32_t refused = 0;
  for (uint32_t seed = 2000; seed < 2040; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    testing::TemporaryDirectory directory;
    FaultDisk disk(seed);
    auto store = testing::open_store(directory.file("state.db"), options_for(disk));
    const int64_t from =
        disk.changes() + std::uniform_int_distribution<int64_t>(1, changes_of_a_whole_run())(random);
    disk.be_full_between(from, from + std::uniform_int_distribution<int64_t>(1, 100)(random));

    std::vector<bool> committed(kBatches + 1, false);
    for (uint32_t number = 1; number <= kBatches; ++number) {
      const Status status = testing::commit(*store, batch_of(number));
      committed[number] = status.has_value();
      if (status) continue;
      ++refused;
      EXPECT_EQ(status.error().code, ENOSPC);
      EXPECT_THAT(status.error().message, HasSubstr("No space left"));
      EXPECT_THAT(status.error().message, HasSubstr(directory.file("state.db")));
      EXPECT_FALSE(is_whole(*store, *store->load(), number));
    }
    // By now there is room: a refused batch can be tried again.
    disk.be_full_between(FaultDisk::kNever, FaultDisk::kNever);
    ASSERT_TRUE(testing::commit(*store, batch_of(kBatches + 1)));
    const bool clean_end = seed % 2 == 0;
    if (!clean_end) disk.cut_power_at(disk.changes() + 1);
    store.reset();
    testing::TemporaryDirectory after;
    if (!clean_end) disk.restore(after.path(), FaultDisk::Survivors::kRandomSectors);
    const std::string path = clean_end ? directory.file("state.db") : after.file("state.db");
    store = testing::open_store(path, kWithoutSync);
    auto loaded = store->load();
    ASSERT_TRUE(loaded);
    for (uint32_t number = 1; number <= kBatches; ++number) {
      EXPECT_EQ(is_whole(*store, *loaded, number), committed[number]) << "batch " << number;
    }
    EXPECT_TRUE(is_whole(*store, *loaded, kBatches + 1));
    store.reset();
    expect_intact(path);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(refused, 0u);
}

TEST(FullDisk, EverybodyInTheGroupIsTold) {
  testing::TemporaryDirectory directory;
  FaultDisk disk(3000);
  auto store = testing::open_store(directory.file("state.db"), options_for(disk));
  disk.be_full_between(disk.changes() + 1, FaultDisk::kNever);
  std::atomic<uint32_t> refused = 0;
  for (uint32_t number = 1; number <= 20; ++number) {
    store->commit(batch_of(number), [&](Status status) { refused += status ? 0 : 1; });
  }
  EXPECT_FALSE(testing::commit(*store, batch_of(21)));
  EXPECT_EQ(refused, 20u);
  disk.be_full_between(FaultDisk::kNever, FaultDisk::kNever);
  EXPECT_TRUE(testing::commit(*store, batch_of(1)));
}

TEST(FailingDisk, AFailedSyncIsReportedAndNotCommitted) {
  uint32_t failed = 0;
  for (uint32_t seed = 4000; seed < 4040; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::TemporaryDirectory directory;
    FaultDisk disk(seed);
    auto store = testing::open_store(directory.file("state.db"), options_for(disk));
    std::vector<bool> committed(kBatches + 1, false);
    disk.fail_one_sync_from(disk.changes() + 1 + (seed - 4000) * 15);
    for (uint32_t number = 1; number <= kBatches; ++number) {
      const Status status = testing::commit(*store, batch_of(number));
      committed[number] = status.has_value();
      if (!status) {
        ++failed;
        EXPECT_THAT(status.error().message, HasSubstr("input/output error"));
        EXPECT_EQ(status.error().code, EIO);
      }
    }
    disk.cut_power_at(disk.changes() + 1);
    store.reset();
    testing::TemporaryDirectory after;
    disk.restore(after.path(), FaultDisk::Survivors::kNone);
    store = testing::open_store(after.file("state.db"), kWithoutSync);
    auto loaded = store->load();
    ASSERT_TRUE(loaded);
    for (uint32_t number = 1; number <= kBatches; ++number) {
      EXPECT_EQ(is_whole(*store, *loaded, number), committed[number]) << "batch " << number;
    }
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(failed, 0u);
}

// Its successor finds the commit in the log, tells who asks again that it is done, and must not lose it then.
TEST(FailingDisk, WhatASuccessorFindsIsThereAfterAPowerCut) {
  uint32_t found = 0;
  for (uint32_t seed = 5000; seed < 5040; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::TemporaryDirectory directory, after;
    FaultDisk disk(seed);
    auto store = testing::open_store(directory.file("state.db"), options_for(disk));
    disk.fail_one_sync_from(disk.changes() + 1 + (seed - 5000) * 15);
    uint32_t number = 1;
    while (number <= kBatches && testing::commit(*store, batch_of(number))) ++number;
    if (number > kBatches) break;
    disk.cut_power_at(disk.changes() + 1);  // it is killed
    store.reset();
    disk.cut_power_at(FaultDisk::kNever);
    store = testing::open_store(directory.file("state.db"), options_for(disk));
    const auto seen = store->load();
    ASSERT_TRUE(seen);
    const bool there = is_whole(*store, *seen, number);
    found += there ? 1 : 0;
    disk.cut_power_at(disk.changes() + 1);
    store.reset();
    disk.restore(after.path(), FaultDisk::Survivors::kNone);
    store = testing::open_store(after.file("state.db"), kWithoutSync);
    const auto left = store->load();
    ASSERT_TRUE(left);
    EXPECT_EQ(is_whole(*store, *left, number), there) << "batch " << number;
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(found, 0u);
}

// The same on a real file system of 2 MiB, if the test may mount one.
TEST(FullDisk, ARealOne) {
  testing::TemporaryDirectory directory;
  if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "may not mount a file system here";
  }
  struct Unmount {
    const std::string& path;
    ~Unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  } unmount{directory.path()};
  const std::string filler = directory.file("filler");
  std::ofstream(filler) << std::string(500'000, 'x');
  {
    auto store = testing::open_store(directory.file("state.db"));
    uint32_t number = 0;
    Status status;
    while (status && number < 1000) status = testing::commit(*store, batch_of(++number));
    ASSERT_FALSE(status) << "2 MiB are never full";
    EXPECT_EQ(status.error().code, ENOSPC) << status.error().message;
    EXPECT_GT(number, 10u);
    EXPECT_FALSE(is_whole(*store, *store->load(), number));
    std::filesystem::remove(filler);
    EXPECT_TRUE(testing::commit(*store, batch_of(number)));
    auto loaded = store->load();
    for (uint32_t earlier = 1; earlier <= number; ++earlier) EXPECT_TRUE(is_whole(*store, *loaded, earlier));
  }
  expect_intact(directory.file("state.db"));
}

}  // namespace
}  // namespace minke::store
