// How fast decisions are, with nothing launched.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "model/cluster.pb.h"
#include "sched/forecast.h"
#include "sched/pass.h"
#include "sched/test_cluster.h"
#include "sched/wait_reason.h"

namespace minke::sched {
namespace {

// A queue of jobs of one shape on a node of 2 CPUs is drained by passes that each start what the two jobs
// that ended made room for. The rate must not depend on the length of the queue.
void BM_OneShapeOnTwoCpus(benchmark::State& state) {
  Machine machine = testing::uniform_machine(1, 2, 8000);
  Request request;
  request.time_limit_minutes = 60;
  const auto length = static_cast<EntryId>(state.range(0));
  const StartCallback on_start = [&](EntryId entry, const Placement&, std::int64_t) { return RunKey{entry}; };
  std::int64_t now = 0;
  for (auto _ : state) {
    state.PauseTiming();
    PendingQueue queue;
    RunningSet running;
    for (EntryId id = 0; id < length; ++id) queue.insert({id, 1, id, 1}, request);
    state.ResumeTiming();
    while (queue.size() > 0) {
      run_pass(machine, queue, running, ++now, {}, on_start);
      while (running.size() > 0) machine.release(*running.remove(running.by_end().begin()->first.key));
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_OneShapeOnTwoCpus)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

void BM_OneArrayOnTwoCpus(benchmark::State& state) {
  Machine machine = testing::uniform_machine(1, 2, 8000);
  PendingQueue queue;
  RunningSet running;
  Request request;
  request.time_limit_minutes = 60;
  queue.insert({1, 1, 1, 0xffffffff}, request);
  RunKey key = 0;
  std::int64_t now = 0;
  const StartCallback on_start = [&](EntryId, const Placement&, std::int64_t) { return ++key; };
  for (auto _ : state) {
    run_pass(machine, queue, running, ++now, {}, on_start);
    while (running.size() > 0) machine.release(*running.remove(running.by_end().begin()->first.key));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(key));
}
BENCHMARK(BM_OneArrayOnTwoCpus);

// 1,000 nodes of 64 CPUs and 4 GPUs; 100,000 pending jobs in some 500 shapes.
struct LargeCluster {
  LargeCluster() : machine(make_machine()) {
    testing::Random random(1);
    const auto gpu = machine.layout().gpu_name().value();
    std::vector<Request> shapes;
    for (int i = 0; i < 500; ++i) {
      Request request;
      request.time_limit_minutes = random.between(1, 48) * 30;
      request.cpus_per_task = 1u << random.up_to(5);
      request.memory = MemoryDemand::kPerCpu;
      request.memory_mib = 1000 * random.between(1, 6);
      if (random.one_in(3)) request.gres = {{gpu, kAnyKind, random.between(1, 4), 0, 0}};
      if (random.one_in(4)) request.min_nodes = request.max_nodes = 1u << random.up_to(6);
      if (random.one_in(6)) request.tasks = request.max_nodes = random.between(1, 500);
      if (request.min_nodes > request.max_nodes) request.min_nodes = 1;
      shapes.push_back(request);
    }
    for (EntryId id = 0; id < 100000; ++id) {
      queue.insert({id, random.up_to(1000), id, 1}, shapes[random.up_to(499)]);
    }
  }
  static Machine make_machine() {
    std::vector<model::NodeRecord> nodes;
    PartitionNodes all{"all", {}};
    for (std::uint32_t i = 0; i < 1000; ++i) {
      nodes.push_back(testing::make_node(testing::node_name(i), 64, 256000));
      *nodes.back().add_gres() = testing::make_gres("a100", 4);
      all.nodes.push_back(nodes.back().name());
    }
    return Machine::build(nodes, std::vector{all}).value();
  }
  PassResult pass(std::int64_t now) {
    return run_pass(machine, queue, running, now, {},
                    [&](EntryId entry, const Placement&, std::int64_t) { return RunKey{entry}; });
  }
  // Ends every `one_in`th running job, without regard to its limit.
  void end_some(testing::Random& random, std::uint32_t one_in) {
    std::vector<RunKey> ended;
    for (const auto& [end, placement] : running.by_end()) {
      if (random.one_in(one_in)) ended.push_back(end.key);
    }
    for (const RunKey key : ended) machine.release(*running.remove(key));
  }
  Machine machine;
  PendingQueue queue;
  RunningSet running;
};

void BM_FullBackfillFromIdle(benchmark::State& state) {
  const LargeCluster fresh;
  std::uint64_t started = 0;
  for (auto _ : state) {
    state.PauseTiming();
    LargeCluster cluster = fresh;
    state.ResumeTiming();
    started = cluster.pass(0).started;
    state.PauseTiming();
    { LargeCluster dropped = std::move(cluster); }
    state.ResumeTiming();
  }
  state.counters["started"] = static_cast<double>(started);
}
BENCHMARK(BM_FullBackfillFromIdle)->Unit(benchmark::kMillisecond);

// The usual case: the machine is full, one in `range` of the running jobs has ended.
void BM_FullBackfillWhenBusy(benchmark::State& state) {
  LargeCluster cluster;
  cluster.pass(0);
  testing::Random random(2);
  std::int64_t now = 0;
  std::uint64_t started = 0;
  std::uint64_t tested = 0;
  EntryId next = 1000000;
  for (auto _ : state) {
    state.PauseTiming();
    cluster.end_some(random, static_cast<std::uint32_t>(state.range(0)));
    state.ResumeTiming();
    const PassResult result = cluster.pass(now += 60);
    state.PauseTiming();
    started += result.started;
    tested += result.tested;
    PendingQueue::Cursor cursor(cluster.queue);
    std::vector<std::pair<PendingEntry, Request>> more;  // keeps the queue as long as it was
    for (std::uint64_t i = 0; i < result.started; ++i) {
      const auto item = cursor.next();
      more.emplace_back(PendingEntry{next, random.up_to(1000), next, 1},
                        cluster.queue.request(item->class_id));
      ++next;
    }
    for (const auto& [entry, request] : more) cluster.queue.insert(entry, request);
    state.ResumeTiming();
  }
  const auto passes = static_cast<double>(state.iterations());
  state.counters["started"] = static_cast<double>(started) / passes;
  state.counters["tested"] = static_cast<double>(tested) / passes;
  state.counters["classes"] = static_cast<double>(cluster.queue.class_count());
}
BENCHMARK(BM_FullBackfillWhenBusy)
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(100);

// On the full machine one job comes, of any of the shapes and priorities, and is decided about.
void BM_SingleSubmission(benchmark::State& state) {
  LargeCluster cluster;
  cluster.pass(0);
  testing::Random random(3);
  std::vector<Request> requests;
  PendingQueue::Cursor cursor(cluster.queue);
  for (int i = 0; i < 1000; ++i) requests.push_back(cluster.queue.request(cursor.next()->class_id));
  EntryId next = 1000000;
  for (auto _ : state) {
    cluster.queue.insert({next, random.up_to(1000), next, 1}, requests[next % requests.size()]);
    benchmark::DoNotOptimize(cluster.pass(1).started);
    ++next;
  }
}
BENCHMARK(BM_SingleSubmission)->Unit(benchmark::kMicrosecond)->Iterations(2000);

// On the full machine one job ends, and what that frees is given to others.
void BM_SingleCompletion(benchmark::State& state) {
  LargeCluster cluster;
  cluster.pass(0);
  testing::Random random(4);
  std::int64_t now = 0;
  std::uint64_t started = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto ending = cluster.running.by_end().begin();
    std::advance(ending, random.up_to(static_cast<std::uint32_t>(cluster.running.size()) - 1));
    const RunKey key = ending->first.key;
    state.ResumeTiming();
    cluster.machine.release(*cluster.running.remove(key));
    started += cluster.pass(++now).started;
  }
  state.counters["started"] = static_cast<double>(started) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_SingleCompletion)->Unit(benchmark::kMicrosecond)->Iterations(500);

// What a submission costs when nothing has become free.
void BM_PassWithNothingNew(benchmark::State& state) {
  LargeCluster cluster;
  cluster.pass(0);
  for (auto _ : state) benchmark::DoNotOptimize(cluster.pass(1).started);
}
BENCHMARK(BM_PassWithNothingNew)->Unit(benchmark::kMicrosecond);

void BM_Insert(benchmark::State& state) {
  const LargeCluster cluster;
  PendingQueue queue;
  EntryId id = 0;
  const Request& request = cluster.queue.request(0);
  for (auto _ : state) queue.insert({id, 1, id, 1}, request), ++id;
  state.SetItemsProcessed(static_cast<std::int64_t>(id));
}
BENCHMARK(BM_Insert)->Iterations(1000000);

void BM_ForecastOfAThousand(benchmark::State& state) {
  LargeCluster cluster;
  cluster.pass(0);
  std::size_t known = 0;
  for (auto _ : state) known = forecast(cluster.machine, cluster.queue, cluster.running, 0).size();
  state.counters["known"] = static_cast<double>(known);
}
BENCHMARK(BM_ForecastOfAThousand)->Unit(benchmark::kMillisecond);

void BM_WaitReasons(benchmark::State& state) {
  LargeCluster cluster;
  cluster.pass(0);
  for (auto _ : state) {
    const WaitReasons reasons(cluster.machine, cluster.queue);
    benchmark::DoNotOptimize(reasons.of(99999));
  }
}
BENCHMARK(BM_WaitReasons)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace minke::sched
