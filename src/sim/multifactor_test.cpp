#include "sim/multifactor.h"

#include <gtest/gtest.h>

#include "model/cluster.pb.h"
#include "sim/accounts.h"
#include "sim/placed.h"
#include "sim/replay.h"

namespace minke::sim {
namespace {

constexpr std::int64_t kHour = 3600;

struct World {
  Trace trace;
  accounts::AccountBook book;
  std::vector<model::PartitionRecord> partitions;
  std::optional<sched::Machine> machine;
  MultifactorPolicy policy;

  World() {
    model::NodeRecord node;
    node.set_name("n1");
    node.set_cpus(4);
    node.set_memory_mib(1000);
    const std::vector<model::NodeRecord> nodes = {node};
    std::vector<sched::PartitionNodes> members;
    for (const char* name : {"main", "fast"}) {
      model::PartitionRecord& partition = partitions.emplace_back();
      partition.set_name(name);
      partition.set_nodes("n1");
      partition.set_is_default(partitions.size() == 1);
      partition.set_priority_job_factor(static_cast<std::uint32_t>(partitions.size()));
      members.push_back({name, {"n1"}});
    }
    machine.emplace(sched::Machine::build(nodes, members).value());
    policy.weights.age = 1000;
    policy.weights.fair_share = 100'000;
    policy.calc_period = 60;
  }
  void job(const char* account, std::int64_t submit, std::int64_t runs, const char* partition = "main") {
    TraceJob job;
    job.id = trace.jobs.size() + 1;
    job.submit = submit;
    job.runs = runs;
    job.asks = 2 * kHour;
    job.processors = 4;
    job.account = trace.names.number_of(account);
    job.user = trace.names.number_of(std::string(account) + "-user");
    job.partition = trace.names.number_of(partition);
    trace.jobs.push_back(job);
  }
  std::vector<std::int64_t> starts() {
    EXPECT_TRUE(add_missing(book, trace));
    const auto placed = make_requests(trace, partitions, *machine);
    Multifactor priorities(trace, policy, book, partitions, *machine);
    return replay_placed(trace.jobs, placed.request_of, placed.requests, *machine, Policy::kEasy, nullptr,
                         &priorities)
        .starts;
  }
};

TEST(Multifactor, WhoHasUsedLessIsServedFirst) {
  World world;
  world.job("a", 0, kHour);
  world.job("a", 1, kHour);
  world.job("a", 2, kHour);
  world.job("b", 3, kHour);
  EXPECT_EQ(world.starts(), (std::vector<std::int64_t>{0, 2 * kHour, 3 * kHour, kHour}));
}

TEST(Multifactor, SharesCount) {
  const auto replay = [](const char* dump) {
    World world;
    world.book = read_accounts(dump).value();
    world.job("a", 0, kHour);
    world.job("b", 1, kHour);
    world.job("a", 2, kHour);
    world.job("b", 3, kHour);
    return world.starts();
  };
  EXPECT_EQ(replay("Account - 'b':Fairshare=10\n"),
            (std::vector<std::int64_t>{0, kHour, 3 * kHour, 2 * kHour}));
  EXPECT_EQ(replay("Account - 'a':Fairshare=10\n"),
            (std::vector<std::int64_t>{0, kHour, 2 * kHour, 3 * kHour}));
}

TEST(Multifactor, OldUseIsForgotten) {
  const auto replay = [](std::int64_t half_life) {
    World world;
    world.policy.half_life = half_life;
    world.job("a", 0, 2 * kHour);
    world.job("b", 20 * kHour, kHour);
    world.job("b", 20 * kHour + 1, kHour);
    world.job("a", 20 * kHour + 2, kHour);
    return world.starts();
  };
  // "a" has used more in all, "b" more of late.
  EXPECT_EQ(replay(0)[2], 21 * kHour);
  EXPECT_EQ(replay(kHour)[2], 22 * kHour);
}

TEST(Multifactor, PartitionsAndTiersCount) {
  World world;
  world.policy.weights.fair_share = 0;
  world.policy.weights.partition = 10'000;
  for (const char* partition : {"main", "main", "fast"}) world.job("a", 0, kHour, partition);
  EXPECT_EQ(world.starts(), (std::vector<std::int64_t>{kHour, 2 * kHour, 0}));
  world.partitions[0].set_priority_tier(2);
  world.partitions[1].set_priority_tier(1);
  EXPECT_EQ(world.starts(), (std::vector<std::int64_t>{0, kHour, 2 * kHour}));
}

}  // namespace
}  // namespace minke::sim
