// The program is killed at any moment; everything that it reported as committed is there at the next start.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "store/job_row.h"
#include "store/store.h"
#include "store/testing.h"

namespace minke::store {
namespace {

constexpr uint32_t kJobsPerBatch = 20;

// Commits batch after batch, each of jobs first..first + 19, a few at a time, and writes the first job id of
// each to `acknowledgements` once it is committed. Never returns.
[[noreturn]] void commit_for_ever(const std::string& path, uint32_t first, int acknowledgements) {
  {
    Options options;
    options.checkpoint_pages = 50;
    auto store = testing::open_store(path, options);
    for (;; first += kJobsPerBatch) {
      Batch batch;
      for (uint32_t i = 0; i < kJobsPerBatch; ++i) batch.jobs.push_back(testing::job_row(first + i));
      batch.rows = {testing::probe_row(first)};
      const auto acknowledge = [acknowledgements, first](Status status) {
        if (!status || ::write(acknowledgements, &first, sizeof first) != sizeof first) ::_exit(1);
      };
      if (first % (4 * kJobsPerBatch) == 1) {
        MINKE_CHECK(testing::commit(*store, {}));
      }
      store->commit(std::move(batch), acknowledge);
    }
  }
}

TEST(Kill, WhatWasReportedIsThereAfterwards) {
  testing::TemporaryDirectory directory;
  const std::string path = directory.file("state.db");
  std::mt19937 random(7);
  uint32_t next = 1;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      commit_for_ever(path, next, ends[1]);
    }
    ::close(ends[1]);
    // Kills the child after some acknowledgements, and then after zero or more
    // microseconds of its work.
    uint32_t acknowledged = 0, seen = 0;
    const uint32_t wanted = std::uniform_int_distribution<uint32_t>(0, 60)(random);
    while (seen < wanted && ::read(ends[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged)
      ++seen;
    EXPECT_EQ(seen, wanted) << "the child ended by itself";
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    // Reads what it acknowledged while the signal was on its way.
    while (::read(ends[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged) {
    }
    ::close(ends[0]);

    auto store = testing::open_store(path);
    auto loaded = store->load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    const size_t jobs = loaded->active_jobs.size();
    if (acknowledged != 0) {
      EXPECT_GE(jobs, acknowledged + kJobsPerBatch - 1);
    }
    // Job ids are 1, 2, … without a gap, in whole batches, and the row is the last batch's.
    EXPECT_EQ(jobs % kJobsPerBatch, 0u);
    EXPECT_EQ(loaded->highest_job_id, jobs);
    if (jobs > 0) {
      EXPECT_EQ(testing::probed(*loaded), jobs - kJobsPerBatch + 1);
    }
    next = static_cast<uint32_t>(jobs) + 1;
    if (HasFailure()) break;
  }
  EXPECT_GT(next, 1000u);
}

}  // namespace
}  // namespace minke::store
