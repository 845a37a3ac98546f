// Accounting queries: which jobs they select, in which order and portions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <semaphore>
#include <string>
#include <utility>

#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "store/job_row.h"
#include "store/report.h"
#include "store/schema.h"
#include "store/testing.h"

namespace minke::store {
namespace {

using testing::array_task;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::job_row;
using testing::spec_row;
using testing::step_row;

using Runs = std::vector<std::pair<uint32_t, uint32_t>>;  // (job_id, restarts)

JobRow job_with_times(uint32_t job_id, model::JobState state, int64_t submit, int64_t end,
                      uint32_t restarts = 0) {
  JobRow row = job_row(job_id, state, restarts);
  row.record.set_submit_time(submit);
  row.record.set_end_time(end);
  return row;
}

class QueryTest : public ::testing::Test {
 protected:
  void put(Batch batch) { ASSERT_TRUE(testing::commit(*store_, std::move(batch))); }

  std::vector<uint32_t> ids(AccountingQuery query) {
    std::vector<uint32_t> result;
    for (const auto& [job_id, restarts] : runs(std::move(query))) result.push_back(job_id);
    return result;
  }
  Runs runs(AccountingQuery query) {
    auto answer = testing::query(*store_, std::move(query));
    EXPECT_TRUE(answer);
    Runs result;
    for (const auto& job : answer->jobs) {
      result.emplace_back(job.job.record.job_id(), job.job.record.restarts());
    }
    return result;
  }

  testing::TemporaryDirectory directory_;
  std::unique_ptr<Store> store_ = testing::open_store(directory_.file("state.db"));
};

TEST_F(QueryTest, NothingStoredNothingFound) {
  EXPECT_THAT(ids({}), IsEmpty());
  EXPECT_THAT(ids({.job_ids = {5}}), IsEmpty());
  EXPECT_THAT(ids({.from = 1}), IsEmpty());
}

TEST_F(QueryTest, JobsAreInOrderWithTheirSpecs) {
  put({.jobs = {job_row(30), job_row(7), job_row(12, model::JOB_FAILED)},
       .specs = {spec_row(30, "c"), spec_row(7, "a"), spec_row(12, "b")}});
  auto answer = testing::query(*store_, {});
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->jobs.size(), 3u);
  EXPECT_EQ(answer->jobs[0].spec.name(), "a");
  EXPECT_EQ(answer->jobs[1].spec.name(), "b");
  EXPECT_EQ(answer->jobs[2].spec.name(), "c");
  EXPECT_EQ(answer->jobs[1].job.record.SerializeAsString(),
            job_row(12, model::JOB_FAILED).record.SerializeAsString());
  EXPECT_FALSE(answer->jobs[0].job.record.has_spec());
}

TEST_F(QueryTest, ByJobAndArrayIds) {
  Batch batch;
  for (uint32_t task = 1; task <= 4; ++task) batch.jobs.push_back(array_task(10 + 2 * task, 10, task));
  batch.jobs.push_back(array_task(10, 10, 5));  // the last task has the array's id
  for (uint32_t id : {11, 13, 20}) batch.jobs.push_back(job_row(id));
  put(std::move(batch));
  EXPECT_THAT(ids({.job_ids = {10}}), ElementsAre(10, 12, 14, 16, 18));
  EXPECT_THAT(ids({.job_ids = {14}}), ElementsAre(14));
  EXPECT_THAT(ids({.job_ids = {20, 14, 10, 13, 99}}), ElementsAre(10, 12, 13, 14, 16, 18, 20));
}

TEST_F(QueryTest, ByWindowOfTime) {
  put({.jobs = {
           job_with_times(1, model::JOB_COMPLETE, 100, 200),
           job_with_times(2, model::JOB_COMPLETE, 100, 299),
           job_with_times(3, model::JOB_FAILED, 100, 300),
           job_with_times(4, model::JOB_RUNNING, 150, 250),  // its end is a limit, not an actual end
           job_with_times(5, model::JOB_PENDING, 399, 0),
           job_with_times(6, model::JOB_PENDING, 400, 0),
           job_with_times(7, model::JOB_COMPLETE, 450, 500),
       }});
  EXPECT_THAT(ids({.from = 300}), ElementsAre(3, 4, 5, 6, 7));
  EXPECT_THAT(ids({.until = 400}), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(ids({.from = 300, .until = 400}), ElementsAre(3, 4, 5));
  EXPECT_THAT(ids({.from = 501}), ElementsAre(4, 5, 6));
  EXPECT_THAT(ids({.ended_since = 300}), ElementsAre(3, 7));
  EXPECT_THAT(ids({.from = 301, .ended_since = 200}), ElementsAre(7));
  EXPECT_THAT(ids({.job_ids = {2, 3, 4}, .from = 300}), ElementsAre(3, 4));
}

TEST_F(QueryTest, ACompletingJobHasEnded) {
  JobRow row = job_with_times(1, model::JOB_COMPLETE, 100, 200);
  row.record.set_completing(true);
  put({.jobs = {row}});
  EXPECT_THAT(ids({.ended_since = 200}), ElementsAre(1));
  EXPECT_THAT(ids({.from = 201}), IsEmpty());
}

TEST_F(QueryTest, ByUserAndName) {
  Batch batch;
  for (uint32_t id = 1; id <= 6; ++id) {
    batch.jobs.push_back(job_row(id));
    batch.jobs.back().record.set_uid(id % 2 == 0 ? 4'000'000'000U : 1000);
    batch.specs.push_back(spec_row(id, id <= 3 ? "train" : id == 4 ? "Train" : "it's; eval"));
  }
  for (uint32_t task = 0; task < 3; ++task) batch.jobs.push_back(array_task(20 + task, 20, task));
  batch.specs.push_back(spec_row(20, "sweep"));
  put(std::move(batch));
  EXPECT_THAT(ids({.uids = {4'000'000'000U}}), ElementsAre(2, 4, 6));
  EXPECT_THAT(ids({.names = {"train"}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids({.names = {"it's; eval", "sweep"}}), ElementsAre(5, 6, 20, 21, 22));
  EXPECT_THAT(ids({.uids = {1000, 7}, .names = {"train"}}), ElementsAre(1, 3));
  EXPECT_THAT(ids({.job_ids = {1, 5}, .names = {"train"}}), ElementsAre(1));
  EXPECT_THAT(ids({.names = {""}}), IsEmpty());
  // The spec of one submission changes: only its new name finds it.
  put({.specs = {spec_row(2, "renamed")}});
  EXPECT_THAT(ids({.names = {"train"}}), ElementsAre(1, 3));
  EXPECT_THAT(ids({.names = {"renamed"}}), ElementsAre(2));
}

TEST_F(QueryTest, EarlierRunsOnlyWhereAskedFor) {
  put({.jobs = {
           job_with_times(5, model::JOB_NODE_FAIL, 100, 200, 0),
           job_with_times(5, model::JOB_NODE_FAIL, 200, 300, 1),
           job_with_times(5, model::JOB_PENDING, 300, 0, 2),
           job_with_times(6, model::JOB_COMPLETE, 100, 250, 0),
       }});
  EXPECT_EQ(runs({}), (Runs{{5, 2}, {6, 0}}));
  EXPECT_EQ(runs({.duplicates = true}), (Runs{{5, 0}, {5, 1}, {5, 2}, {6, 0}}));
  EXPECT_EQ(runs({.job_ids = {5}}), (Runs{{5, 2}}));
  EXPECT_EQ(runs({.job_ids = {5}, .from = 250, .duplicates = true}), (Runs{{5, 1}, {5, 2}}));
  // As of a past moment: the run that was the latest then.
  EXPECT_EQ(runs({.until = 250}), (Runs{{5, 1}, {6, 0}}));
  // It waits again: the run that ended lately is not this job.
  EXPECT_EQ(runs({.ended_since = 150}), (Runs{{6, 0}}));
}

TEST_F(QueryTest, StepsOfTheRunInOrder) {
  put({.jobs = {job_row(5, model::JOB_NODE_FAIL, 0), job_row(5, model::JOB_COMPLETE, 1), job_row(6)},
       .steps = {step_row(5, model::STEP_BATCH, 0, 1), step_row(5, model::STEP_NORMAL, 10, 1),
                 step_row(5, model::STEP_NORMAL, 2, 1), step_row(5, model::STEP_EXTERN, 0, 1),
                 step_row(5, model::STEP_BATCH, 0, 0)}});
  auto answer = testing::query(*store_, {.with_steps = true, .duplicates = true});
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->jobs.size(), 3u);
  EXPECT_EQ(answer->jobs[0].steps.size(), 1u);
  const auto& steps = answer->jobs[1].steps;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].step_id(), 2u);
  EXPECT_EQ(steps[1].step_id(), 10u);
  EXPECT_EQ(steps[2].kind(), model::STEP_BATCH);
  EXPECT_EQ(steps[3].kind(), model::STEP_EXTERN);
  EXPECT_THAT(answer->jobs[2].steps, IsEmpty());
  EXPECT_THAT(testing::query(*store_, {})->jobs[0].steps, IsEmpty());
}

TEST_F(QueryTest, ChunksAreBoundedAndLeaveNothingOut) {
  const uint32_t count = 3 * Report::kChunkJobs + 17;
  Batch batch;
  for (uint32_t id = 1; id <= count; ++id) {
    batch.jobs.push_back(job_with_times(id, model::JOB_COMPLETE, 100, 1000 + id));
    // Runs of one job lie on both sides of the chunks' borders.
    if (id % Report::kChunkJobs == 0)
      batch.jobs.push_back(job_with_times(id, model::JOB_COMPLETE, 101, 1000 + id, 1));
  }
  put(std::move(batch));
  for (const AccountingQuery& query : {AccountingQuery{}, AccountingQuery{.from = 1}}) {  // in order; by keys
    auto answer = testing::query(*store_, query);
    ASSERT_TRUE(answer);
    EXPECT_THAT(answer->chunks, ElementsAre(Report::kChunkJobs, Report::kChunkJobs, Report::kChunkJobs, 17));
    for (uint32_t id = 1; id <= count; ++id) EXPECT_EQ(answer->jobs.at(id - 1).job.record.job_id(), id);
  }
  EXPECT_EQ(ids({.duplicates = true}).size(), count + 3);
}

// More jobs than keys are kept for: queries for one user or one array still return all of theirs.
TEST_F(QueryTest, MoreCandidatesThanAreKept) {
  constexpr uint32_t kTasks = Report::kMostCandidates + 1000;
  for (uint32_t id = 2; id <= kTasks;) {
    Batch batch;
    for (uint32_t i = 0; i < 20'000 && id <= kTasks; ++i, ++id) {
      JobRow row;
      row.spec_id = 1;
      row.record.set_job_id(id);
      row.record.set_array_job_id(1);
      row.record.set_uid(id % 100'000 == 0 ? 7 : 1000);
      row.record.set_state(model::JOB_COMPLETE);
      row.record.set_end_time(id);
      batch.jobs.push_back(std::move(row));
    }
    put(std::move(batch));
  }
  put({.jobs = {job_row(kTasks + 1)}, .specs = {spec_row(1, "big"), spec_row(kTasks + 1, "small")}});

  EXPECT_THAT(ids({.job_ids = {1}, .uids = {7}}), ElementsAre(100'000, 200'000));
  EXPECT_THAT(ids({.uids = {7}, .names = {"big"}}), ElementsAre(100'000, 200'000));
  EXPECT_THAT(ids({.from = 2, .uids = {7}}), ElementsAre(100'000, 200'000));
  EXPECT_THAT(ids({.names = {"small"}}), ElementsAre(kTasks + 1));
  EXPECT_THAT(ids({.ended_since = kTasks}), ElementsAre(kTasks));

  // Memory does not grow with the number of rows that pass through it.
  const size_t before = ::mallinfo2().uordblks;
  std::atomic<size_t> jobs = 0, most = 0;
  std::latch end(1);
  store_->query({}, [&](Result<std::vector<AccountedJob>> chunk) {
    ASSERT_TRUE(chunk);
    jobs += chunk->size();
    most = std::max<size_t>(most, ::mallinfo2().uordblks);
    if (chunk->empty()) end.count_down();
  });
  end.wait();
  EXPECT_EQ(jobs, kTasks);
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(most, before + 8'000'000);
#else
  (void)before;
#endif
}

TEST_F(QueryTest, AShortQueryDoesNotWaitForALongOne) {
  Batch batch;
  for (uint32_t id = 1; id <= 50 * Report::kChunkJobs; ++id) batch.jobs.push_back(job_row(id));
  put(std::move(batch));
  std::vector<char> order;  // only the reader's thread writes it; read after the end
  std::latch handed_in(1), ends(2);
  store_->query({}, [&](Result<std::vector<AccountedJob>> chunk) {
    handed_in.wait();
    order.push_back('l');
    if (chunk->empty()) ends.count_down();
  });
  store_->query({.job_ids = {9}}, [&](Result<std::vector<AccountedJob>> chunk) {
    order.push_back('s');
    if (chunk->empty()) ends.count_down();
  });
  handed_in.count_down();
  ends.wait();
  EXPECT_EQ(std::string(order.begin(), order.begin() + 3), "lss");
  EXPECT_EQ(std::count(order.begin(), order.end(), 'l'), 51);
}

// One user asks a lot, another asks once: the second waits for one chunk of the first.
TEST_F(QueryTest, WhoAsksMuchHasNoMoreTurnsThanOthers) {
  Batch batch;
  for (uint32_t id = 1; id <= 4 * Report::kChunkJobs; ++id) batch.jobs.push_back(job_row(id));
  put(std::move(batch));
  std::string order;  // only the reader's thread writes it; read after the end
  std::latch handed_in(1), ends(51);
  const auto ask = [&](uint32_t asker, char letter) {
    store_->query({.asker = asker}, [&, letter](Result<std::vector<AccountedJob>> chunk) {
      handed_in.wait();
      order.push_back(letter);
      if (chunk->empty()) ends.count_down();
    });
  };
  for (int i = 0; i < 50; ++i) ask(1000, 'm');
  ask(1001, 'o');
  handed_in.count_down();
  ends.wait();
  EXPECT_LE(order.rfind('o'), 12u);  // its chunks, and as many of the other's between them
}

TEST_F(QueryTest, WhoTakesHisTimeIsReadForAsFarAsHeAsks) {
  Batch batch;
  for (uint32_t id = 1; id <= 20 * Report::kChunkJobs; ++id) batch.jobs.push_back(job_row(id));
  put(std::move(batch));
  std::atomic<int> chunks = 0;
  std::atomic<bool> over = false;
  std::counting_semaphore<> came(0);
  auto reading = store_->read({}, [&](Result<std::vector<AccountedJob>> chunk) {
    ++chunks;
    over = chunk->empty();
    came.release();
  });
  int wanted = 0;
  while (!over && ++wanted < 20) {
    came.acquire();
    EXPECT_THAT(ids({.job_ids = {9}}), ElementsAre(9));  // others continue
    EXPECT_THAT(ids({.job_ids = {8}}), ElementsAre(8));
    EXPECT_EQ(chunks, wanted);
    reading->next();
  }
  EXPECT_EQ(wanted, 20);
  // A client that leaves in between is forgotten.
  std::atomic<int> more = 0;
  auto dropped = store_->read({}, [&](Result<std::vector<AccountedJob>>) { ++more; });
  dropped->next();
  dropped.reset();
  EXPECT_THAT(ids({.job_ids = {9}}), ElementsAre(9));
  EXPECT_THAT(ids({.job_ids = {8}}), ElementsAre(8));
  EXPECT_LE(more, 2);
}

TEST_F(QueryTest, CommitsGoOnWhileAReportIsRead) {
  Batch batch;
  for (uint32_t id = 1; id <= 4 * Report::kChunkJobs; ++id) batch.jobs.push_back(job_row(id));
  put(std::move(batch));
  std::latch commits_done(1), end(1);
  size_t jobs = 0;
  store_->query({}, [&](Result<std::vector<AccountedJob>> chunk) {
    commits_done.wait();  // the report pauses between two chunks
    jobs += chunk->size();
    if (chunk->empty()) end.count_down();
  });
  for (int i = 0; i < 50; ++i) put({.jobs = {job_row(1'000'000)}});
  EXPECT_TRUE(*store_->job(1'000'000));
  commits_done.count_down();
  end.wait();
  EXPECT_GE(jobs, 4 * Report::kChunkJobs);
}

TEST_F(QueryTest, ClosingEndsWhatStillRunsWithAnError) {
  Batch batch;
  for (uint32_t id = 1; id <= 100 * Report::kChunkJobs; ++id) batch.jobs.push_back(job_row(id));
  put(std::move(batch));
  std::latch started(1), closing(1);
  std::vector<std::string> ends;
  size_t chunks = 0;
  store_->query({}, [&](Result<std::vector<AccountedJob>> chunk) {
    if (!chunk || chunk->empty()) {
      ends.push_back(chunk ? "the end" : chunk.error().message);
      return;
    }
    if (++chunks == 1) started.count_down();
    closing.wait();
  });
  started.wait();
  store_->query({}, [&](Result<std::vector<AccountedJob>> chunk) {
    if (!chunk || chunk->empty()) ends.push_back(chunk ? "the end" : chunk.error().message);
  });
  closing.count_down();
  store_.reset();  // takes less time than the remaining chunks
  EXPECT_THAT(ends, ElementsAre(HasSubstr("stopping"), HasSubstr("stopping")));
  EXPECT_LT(chunks, 100u);
}

TEST_F(QueryTest, TheNewestComeByTheirEnds) {
  Batch batch;
  batch.jobs = {
      job_with_times(1, model::JOB_COMPLETE, 10, 500), job_with_times(2, model::JOB_RUNNING, 10, 900),
      job_with_times(3, model::JOB_FAILED, 10, 300),   job_with_times(4, model::JOB_COMPLETE, 10, 500),
      job_with_times(5, model::JOB_REQUEUED, 10, 600), job_with_times(5, model::JOB_COMPLETE, 20, 400, 1)};
  batch.jobs[2].record.set_uid(1001);
  put(std::move(batch));
  EXPECT_EQ(runs({.newest_first = true}), (Runs{{4, 0}, {1, 0}, {5, 1}, {3, 0}}));
  EXPECT_EQ(runs({.duplicates = true, .newest_first = true}), (Runs{{5, 0}, {4, 0}, {1, 0}, {5, 1}, {3, 0}}));
  EXPECT_THAT(ids({.from = 400, .newest_first = true}), ElementsAre(4, 1, 5));
  EXPECT_THAT(ids({.uids = {1001}, .newest_first = true}), ElementsAre(3));
  EXPECT_THAT(ids({.uids = {1000, 1001}, .newest_first = true}), ElementsAre(4, 1, 5, 3));
  EXPECT_THAT(ids({.newest_first = true, .behind_end = 500, .behind_run = run_key(4, 0)}),
              ElementsAre(1, 5, 3));
  EXPECT_THAT(ids({.newest_first = true, .behind_end = 300, .behind_run = run_key(3, 0)}), IsEmpty());
}

// Ends that many share, over several chunks: each comes once, in order, wherever a chunk ends.
TEST_F(QueryTest, TheNewestOfThousandsComeOnce) {
  constexpr uint32_t kJobs = 3000;
  Batch batch;
  std::vector<std::pair<int64_t, uint32_t>> expected;
  for (uint32_t id = 1; id <= kJobs; ++id) {
    const int64_t end = 1000 + static_cast<int64_t>(id * 7919 % 13);
    batch.jobs.push_back(job_with_times(id, model::JOB_COMPLETE, 10, end));
    batch.jobs.back().record.set_uid(id % 2);
    expected.emplace_back(end, id);
  }
  put(std::move(batch));
  std::sort(expected.rbegin(), expected.rend());
  std::vector<uint32_t> all, of_one;
  for (const auto& [end, id] : expected) {
    all.push_back(id);
    if (id % 2 == 1) of_one.push_back(id);
  }
  EXPECT_EQ(ids({.newest_first = true}), all);
  EXPECT_EQ(ids({.uids = {1}, .newest_first = true}), of_one);
}

}  // namespace
}  // namespace minke::store
