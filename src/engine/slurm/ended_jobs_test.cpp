#include "engine/slurm/ended_jobs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "engine/slurm/measured_jobs.h"
#include "model/job_record.pb.h"

namespace minke::engine::slurm {
namespace {

api::MeasurementsReply ended(uint32_t first, uint32_t last, size_t bytes) {
  api::MeasurementsReply reply;
  for (uint32_t id = first; id <= last; ++id) {
    api::JobMeasurement& job = *reply.add_jobs();
    job.mutable_job()->set_job_id(id);
    job.mutable_job()->set_uid(1000 + id);
    job.mutable_now()->set_time(1'700'000'000 + id);
    job.add_gpu_uuids(std::string(bytes, 'x'));
  }
  return reply;
}

class EndedJobsTest : public ::testing::Test {
 protected:
  EndedJobsTest() {
    char name[] = "/tmp/minke-ended-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~EndedJobsTest() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

TEST_F(EndedJobsTest, AJobIsKnownOnEachOfItsNodesAlsoLater) {
  {
    auto jobs = EndedJobs::open(directory_ + "/new");
    ASSERT_TRUE(jobs.has_value()) << jobs.error().message;
    ASSERT_TRUE((*jobs)->keep("n1", ended(7, 9, 10)).has_value());
    ASSERT_TRUE((*jobs)->keep("n2", ended(7, 7, 20)).has_value());
    ASSERT_TRUE((*jobs)->keep("n1", ended(7, 7, 30)).has_value());
  }
  auto jobs = EndedJobs::open(directory_ + "/new");
  ASSERT_TRUE(jobs.has_value()) << jobs.error().message;
  const auto found = (*jobs)->of(7);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ((*found)[0].job().node_list(), "n1");
  EXPECT_EQ((*found)[0].gpu_uuids(0).size(), 30U);
  EXPECT_EQ((*found)[1].job().node_list(), "n2");
  EXPECT_EQ((*found)[1].job().uid(), 1007U);
  EXPECT_TRUE((*jobs)->of(4711)->empty());
}

TEST_F(EndedJobsTest, TheOldestGoWhereAllGetTooLarge) {
  auto jobs = EndedJobs::open(directory_, 1'000'000);
  ASSERT_TRUE(jobs.has_value()) << jobs.error().message;
  for (uint32_t first = 1; first < 3000; first += 100)
    ASSERT_TRUE((*jobs)->keep("n1", ended(first, first + 99, 1000)).has_value());
  EXPECT_TRUE((*jobs)->of(1)->empty());
  EXPECT_EQ((*jobs)->of(3000)->size(), 1U);
}

TEST(AskedJobs, AreReadAsTheyAreWritten) {
  for (const char* word : {"job=7", "ended=0,0", "ended=1700000000,4294967295"}) {
    const auto asked = asked_jobs(word);
    ASSERT_TRUE(asked) << word;
    EXPECT_EQ(words_of(*asked), word);
  }
  for (const char* word :
       {"", "job=", "job=-1", "job=x", "ended=1", "ended=1,", "ended=,1", "all", "job=4294967296"})
    EXPECT_FALSE(asked_jobs(word)) << word;
}

TEST(MeasuredJobs, WhoGoesOnGetsWhatHasEndedSince) {
  MeasuredJobs jobs;
  jobs.round(
      {{.job_id = 1, .uid = 1000, .use = {}, .gpus = {}}, {.job_id = 2, .uid = 1001, .use = {}, .gpus = {}}},
      {}, {});
  EXPECT_EQ(jobs.answer(0, true, false, {}).jobs_size(), 2);
  EXPECT_EQ(jobs.answer(1001, false, false, {.job_id = 2, .ended_after = {}}).jobs_size(), 1);
  EXPECT_EQ(jobs.answer(1001, false, false, {.job_id = 1, .ended_after = {}}).jobs_size(), 0);
  // What runs has not ended.
  EXPECT_EQ(jobs.answer(0, true, true, {.job_id = {}, .ended_after = EndedAfter{}}).jobs_size(), 0);
}

}  // namespace
}  // namespace minke::engine::slurm
