// What ended long ago is removed with all that belongs to it, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "store/job_row.h"
#include "store/store.h"
#include "store/testing.h"

namespace minke::store {
namespace {

using testing::array_task;
using testing::commit;
using testing::job_row;
using testing::open_store;
using testing::spec_row;
using testing::step_row;

// Jobs of testing.h end this time + 200 s + their id in s.
constexpr int64_t kEpoch = 1'700'000'000;

class RetentionTest : public ::testing::Test {
 protected:
  uint64_t forget(int64_t before) {
    std::promise<Result<uint64_t>> outcome;
    store_->forget(before, [&](Result<uint64_t> removed) { outcome.set_value(std::move(removed)); });
    auto removed = outcome.get_future().get();
    EXPECT_TRUE(removed) << removed.error().message;
    return removed.value_or(~uint64_t{0});
  }
  std::vector<uint32_t> ids() {
    std::vector<uint32_t> result;
    const auto answer = testing::query(*store_, {.duplicates = true});
    for (const auto& job : answer->jobs) result.push_back(job.job.record.job_id());
    return result;
  }
  bool has_content(const std::string& text) { return store_->content(hash_content(text))->has_value(); }

  testing::TemporaryDirectory directory_;
  std::unique_ptr<Store> store_ = open_store(directory_.file("state.db"));
};

TEST_F(RetentionTest, ForgetsWhatEndedBeforeAndAllThatIsItsAlone) {
  Batch batch;
  for (const uint32_t id : {1u, 2u, 3u, 4u}) {
    JobRow row = job_row(id, id == 3 ? model::JOB_RUNNING : model::JOB_COMPLETE);
    row.script = hash_content("script " + std::to_string(id));
    batch.contents.emplace_back(row.script, "script " + std::to_string(id));
    batch.jobs.push_back(row);
    batch.specs.push_back(spec_row(id));
    batch.steps.push_back(step_row(id, model::STEP_BATCH));
    batch.series.push_back({id, 0, ""});
    batch.submissions.emplace_back(std::string(16, static_cast<char>('a' + id)), id);
  }
  batch.contents.emplace_back(hash_content("PATH=/usr/bin"), "PATH=/usr/bin");
  ASSERT_TRUE(commit(*store_, std::move(batch)));

  EXPECT_EQ(forget(kEpoch + 201), 0u);  // job 1 ends at that second
  EXPECT_EQ(forget(kEpoch + 202), 1u);
  EXPECT_THAT(ids(), ::testing::ElementsAre(2, 3, 4));
  EXPECT_FALSE(has_content("script 1"));
  EXPECT_TRUE(has_content("script 2"));
  EXPECT_TRUE(has_content("PATH=/usr/bin"));
  EXPECT_FALSE(store_->submission(std::string(16, 'b'))->has_value());
  EXPECT_TRUE(store_->submission(std::string(16, 'c'))->has_value());
  EXPECT_FALSE(store_->series(1, 0)->has_value());
  EXPECT_TRUE(store_->series(2, 0)->has_value());

  // A running job stays, and so does the last one: the next job's number comes after it.
  EXPECT_EQ(forget(kEpoch * 2), 1u);
  EXPECT_THAT(ids(), ::testing::ElementsAre(3, 4));
  store_.reset();
  store_ = open_store(directory_.file("state.db"));
  const auto loaded = store_->load();
  EXPECT_EQ(loaded->highest_job_id, 4u);
  ASSERT_EQ(loaded->specs.size(), 1u);
  const auto steps = testing::query(*store_, {.with_steps = true})->jobs;
  EXPECT_EQ(steps.front().steps.size(), 1u);
}

TEST_F(RetentionTest, AnArraysSpecificationStaysWithTheLastOfItsTasks) {
  Batch batch;
  batch.specs.push_back(spec_row(10));
  batch.jobs.push_back(array_task(11, 10, 0));
  batch.jobs.push_back(array_task(12, 10, 1));
  batch.jobs.push_back(array_task(10, 10, 2));
  batch.jobs.push_back(job_row(20, model::JOB_COMPLETE));
  batch.specs.push_back(spec_row(20, "other"));
  batch.submissions.emplace_back(std::string(16, 'k'), 10);
  ASSERT_TRUE(commit(*store_, std::move(batch)));
  EXPECT_EQ(forget(kEpoch + 212), 2u);  // 10 and 11
  auto left = testing::query(*store_, {})->jobs;
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left.front().spec.name(), "train");
  EXPECT_TRUE(store_->submission(std::string(16, 'k'))->has_value());
  EXPECT_EQ(forget(kEpoch + 213), 1u);
  EXPECT_FALSE(store_->submission(std::string(16, 'k'))->has_value());
}

// Thousands of runs take many slices; commits go on between them, and what they store is kept.
TEST_F(RetentionTest, CommitsGoOnMeanwhile) {
  constexpr uint32_t kMany = 12'000;
  Batch batch;
  for (uint32_t id = 1; id <= kMany; ++id) {
    batch.jobs.push_back(job_row(id, model::JOB_COMPLETE));
    batch.specs.push_back(spec_row(id));
  }
  batch.contents.emplace_back(hash_content("PATH=/usr/bin"), "PATH=/usr/bin");
  ASSERT_TRUE(commit(*store_, std::move(batch)));
  std::promise<Result<uint64_t>> outcome;
  store_->forget(kEpoch * 2, [&](Result<uint64_t> removed) { outcome.set_value(std::move(removed)); });
  auto ended = outcome.get_future();
  uint32_t id = kMany;
  do {
    JobRow row = job_row(++id);
    row.script = hash_content(std::to_string(id));
    row.environment.clear();
    Batch one{.jobs = {row}, .specs = {spec_row(id)}};
    one.contents.emplace_back(row.script, std::to_string(id));
    ASSERT_TRUE(commit(*store_, std::move(one)));
  } while (ended.wait_for(std::chrono::seconds(0)) != std::future_status::ready);
  const uint64_t removed = *ended.get();
  // The latest job is kept only if nothing was submitted after it in time.
  EXPECT_GE(removed, kMany - 1);
  EXPECT_GT(id, kMany + 3);
  for (uint32_t at = kMany + 1; at <= id; ++at) EXPECT_TRUE(has_content(std::to_string(at))) << at;
  EXPECT_FALSE(has_content("PATH=/usr/bin") && removed == kMany);
}

}  // namespace
}  // namespace minke::store
