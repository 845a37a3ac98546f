// How fast job rows are made durable, by the size of the batches that are committed and waited for, with an
// empty database and with a million rows in it. And how fast they are reported.
#include <benchmark/benchmark.h>

#include "model/job_state.pb.h"
#include "store/job_row.h"
#include "store/store.h"
#include "store/testing.h"

namespace minke::store {
namespace {

constexpr uint32_t kManyRows = 1'000'000;

struct Database {
  testing::TemporaryDirectory directory;
  std::unique_ptr<Store> store;
  uint32_t next_job_id = 1;

  explicit Database(bool sync) {
    Options options;
    options.sync = sync;
    store = testing::open_store(directory.file("state.db"), options);
  }
  Batch batch(int64_t rows) {
    Batch batch;
    batch.jobs.reserve(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) {
      batch.jobs.push_back(
          testing::array_task(next_job_id, 1 + next_job_id / 100'000, next_job_id % 100'000));
      ++next_job_id;
    }
    return batch;
  }
};

// One database for all measurements that need it full: filling it takes seconds.
Database& full_database() {
  static Database* database = [] {
    auto* full = new Database(true);
    while (full->next_job_id < kManyRows) MINKE_CHECK(testing::commit(*full->store, full->batch(20'000)));
    return full;
  }();
  return *database;
}

void commit_batches(benchmark::State& state, Database& database) {
  for (auto _ : state) {
    state.PauseTiming();
    Batch batch = database.batch(state.range(0));
    state.ResumeTiming();
    MINKE_CHECK(testing::commit(*database.store, std::move(batch)));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// range: rows in a batch, sync.
void Commit(benchmark::State& state) {
  Database database(state.range(1) != 0);
  commit_batches(state, database);
}
BENCHMARK(Commit)
    ->ArgsProduct({{1, 10, 1000, 10'000}, {1}})
    ->Args({10'000, 0})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void CommitToAMillion(benchmark::State& state) {
  commit_batches(state, full_database());
}
BENCHMARK(CommitToAMillion)->Arg(1)->Arg(10)->Arg(1000)->Arg(10'000)->MeasureProcessCPUTime()->UseRealTime();

// The life of a job whose states are committed one by one: pending, running, ended.
void CommitThreeStates(benchmark::State& state) {
  Database database(true);
  for (auto _ : state) {
    state.PauseTiming();
    Batch ended = database.batch(state.range(0));
    Batch pending = ended, running = ended;
    for (auto& row : pending.jobs) row.record.set_state(model::JOB_PENDING);
    for (auto& row : running.jobs) row.record.set_state(model::JOB_RUNNING);
    state.ResumeTiming();
    for (Batch* batch : {&pending, &running, &ended}) {
      MINKE_CHECK(testing::commit(*database.store, std::move(*batch)));
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 3);
}
BENCHMARK(CommitThreeStates)->Arg(1000)->MeasureProcessCPUTime()->UseRealTime();

void ReportAMillion(benchmark::State& state) {
  Database& database = full_database();
  size_t jobs = 0;
  for (auto _ : state) {
    std::promise<void> end;
    database.store->query({}, [&](Result<std::vector<AccountedJob>> chunk) {
      MINKE_CHECK(chunk);
      jobs += chunk->size();
      if (chunk->empty()) end.set_value();
    });
    end.get_future().wait();
  }
  state.SetItemsProcessed(static_cast<int64_t>(jobs));
}
BENCHMARK(ReportAMillion)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// The queries of squeue --states=all and of sacct since a moment ago, in a database of a million.
void ReportTheLastHundred(benchmark::State& state) {
  Database& database = full_database();
  AccountingQuery query;
  query.ended_since = 1'700'000'200 + database.next_job_id - 100;
  for (auto _ : state) MINKE_CHECK(testing::query(*database.store, query)->jobs.size() == 100);
}
BENCHMARK(ReportTheLastHundred)->MeasureProcessCPUTime()->UseRealTime();

void ArrayOutcomeOf100kTasks(benchmark::State& state) {
  Database& database = full_database();
  for (auto _ : state) MINKE_CHECK(database.store->array_outcome(3)->ended == 100'000);
}
BENCHMARK(ArrayOutcomeOf100kTasks)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

void Submission(benchmark::State& state) {
  Database& database = full_database();
  for (auto _ : state) benchmark::DoNotOptimize(database.store->submission("0123456789abcdef"));
}
BENCHMARK(Submission);

}  // namespace
}  // namespace minke::store
