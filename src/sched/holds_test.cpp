#include "sched/holds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "sched/pass.h"
#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

using testing::uniform_machine;

TEST(Holds, Overlap) {
  const Hold once{.start = 100, .end = 200};
  EXPECT_FALSE(overlaps(once, 0, 100));
  EXPECT_TRUE(overlaps(once, 0, 101));
  EXPECT_TRUE(overlaps(once, 199, 200));
  EXPECT_FALSE(overlaps(once, 200, 300));
  EXPECT_FALSE(overlaps(once, 150, 150));
  const Hold daily{.start = 100, .end = 200, .period = 1000};
  EXPECT_FALSE(overlaps(daily, 200, 1100));
  EXPECT_TRUE(overlaps(daily, 200, 1101));
  EXPECT_TRUE(overlaps(daily, 5150, 5160));
  EXPECT_FALSE(overlaps(daily, 5200, 6100));
}

TEST(Holds, OneThatFloatsLetsShortRunsBegin) {
  const Hold floating{.id = 1, .node = 0, .start = 600, .end = 900, .floating = true};
  for (const std::int64_t from : {0, 1000, 1000000}) {
    EXPECT_FALSE(overlaps(floating, from, from + 600));
    EXPECT_TRUE(overlaps(floating, from, from + 601));
  }
  const Holds holds({floating});
  EXPECT_EQ(holds.next_change(0), std::nullopt);
  std::vector<std::int64_t> times;
  holds.add_breakpoints(0, 30, times);
  EXPECT_TRUE(times.empty());
}

TEST(Holds, LicensesAlone) {
  const Hold when{.id = 7, .start = 100, .end = 200};
  const Holds holds({{.id = 8, .node = 0, .start = 0, .end = 1000}},
                    {{.when = when, .license = 2, .count = 3}});
  EXPECT_EQ(holds.withheld(2, 0, 0, 100, {0}), 0);
  EXPECT_EQ(holds.withheld(2, 0, 0, 101, {0}), 3);
  EXPECT_EQ(holds.withheld(2, 0, 0, 101, {2}), 1);
  EXPECT_EQ(holds.withheld(2, 7, 0, 101, {0}), 0);
  EXPECT_EQ(holds.withheld(1, 0, 0, 101, {0}), 0);
  EXPECT_EQ(holds.next_change(0), 100);
  // Its jobs may be on all nodes that nobody else holds, while it lasts.
  NodeSupply supply{.cpus = 4};
  EXPECT_TRUE(holds.limit(1, {}, 7, 150, 160, {{}}, supply));
  EXPECT_FALSE(holds.limit(0, {}, 7, 150, 160, {{}}, supply));
  EXPECT_FALSE(holds.limit(1, {}, 7, 50, 60, {{}}, supply));
  EXPECT_FALSE(holds.limit(1, {}, 9, 150, 160, {{}}, supply));  // nobody knows that one
}

TEST(Holds, GpusOfSomeProcessors) {
  const std::vector<GresPool> pools = {{.kind = 0, .name = 0, .devices = device_range(0, 2)},
                                       {.kind = 1, .name = 0, .devices = device_range(2, 4)},
                                       {.kind = 2, .name = 1, .devices = device_range(0, 8)}};
  const auto left = [&](const Hold& hold, HoldId own, HoldUse use) {
    NodeSupply supply{.cpus = 16};
    supply.counts = {2, 4, 8};
    EXPECT_TRUE(Holds({hold}).limit(0, pools, own, 150, 160, {use}, supply));
    return std::vector<std::int64_t>{supply.cpus, supply.counts[0], supply.counts[1], supply.counts[2]};
  };
  Hold hold{.id = 7, .node = 0, .cpus = 4, .gres = {{0, kAnyKind, 3}}, .start = 100, .end = 200};
  EXPECT_EQ(left(hold, 0, {}), (std::vector<std::int64_t>{12, 2, 1, 8}));
  EXPECT_EQ(left(hold, 0, {1, {2}}), (std::vector<std::int64_t>{13, 2, 3, 8}));  // of 5 that others can have
  EXPECT_EQ(left(hold, 7, {}), (std::vector<std::int64_t>{4, 2, 1, 8}));
  EXPECT_EQ(left(hold, 7, {1, {2}}), (std::vector<std::int64_t>{3, 1, 0, 8}));
  hold.gres[0].kind = 1;
  EXPECT_EQ(left(hold, 0, {}), (std::vector<std::int64_t>{12, 2, 1, 8}));
  EXPECT_EQ(left(hold, 7, {}), (std::vector<std::int64_t>{4, 2, 3, 8}));
}

TEST(Holds, ChangesAndBreakpoints) {
  const Holds holds({{.id = 1, .node = 0, .start = 100, .end = 200, .period = 1000},
                     {.id = 2, .node = 1, .start = 150, .end = 160}});
  EXPECT_EQ(holds.next_change(0), 100);
  EXPECT_EQ(holds.next_change(155), 160);
  EXPECT_EQ(holds.next_change(200), 1100);
  std::vector<std::int64_t> times;
  holds.add_breakpoints(0, 30, times);
  for (const std::int64_t time : {71, 100, 200, 1071, 1100, 1200, 121, 150, 160})
    EXPECT_TRUE(std::find(times.begin(), times.end(), time) != times.end()) << time;
}

// Whatever is submitted: while something is held, only its own jobs have it, and they have nothing else.
TEST(HoldsProperty, AReservationIsAlwaysHonoured) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % (most + 1)); };
    constexpr std::uint32_t kNodes = 4, kCpus = 4;
    Machine machine = uniform_machine(kNodes, kCpus, 8000);
    PendingQueue queue;
    RunningSet running;
    std::vector<Hold> list;
    for (std::uint32_t id = 1; id <= 1 + upto(2); ++id) {
      const std::int64_t start = 60 * (1 + upto(60));
      const std::int64_t end = start + 60 * (1 + upto(30));
      const std::int64_t period = upto(2) == 0 ? 7200 : 0;
      const std::uint32_t cpus = upto(1) == 0 ? 0 : 1 + upto(kCpus - 2);
      // Two reservations may not hold the same node.
      for (NodeId node = id - 1; node < kNodes; node += 3)
        list.push_back({.id = id, .node = node, .cpus = cpus, .start = start, .end = end, .period = period});
    }
    const auto holds = std::make_shared<const Holds>(list);
    machine.set_holds(holds, running);
    struct Run {
      Placement placement;
      std::int64_t end;
      HoldId reservation;
    };
    std::map<RunKey, Run> runs;
    RunKey next_key = 0;
    std::map<EntryId, HoldId> owner;
    EntryId next_entry = 0;
    std::uint64_t started = 0;
    std::int64_t last_change = 0;
    for (std::int64_t now = 60; now < 4 * 3600; now += 60) {
      if (holds->next_change(last_change) <= now) machine.hold_changed();
      last_change = now;
      for (auto run = runs.begin(); run != runs.end();) {
        // Some end early.
        if (run->second.end > now && upto(20) != 0) {
          ++run;
          continue;
        }
        machine.release(*running.remove(run->first));
        run = runs.erase(run);
      }
      for (std::uint32_t i = upto(2); i > 0; --i) {
        Request request;
        request.time_limit_minutes = 1 + upto(90);
        request.min_nodes = request.max_nodes = 1 + upto(1);
        request.tasks = request.min_nodes * (1 + upto(kCpus - 1));
        request.reservation = upto(3) == 0 ? 1 + upto(list.back().id - 1) : 0;
        owner[++next_entry] = request.reservation;
        queue.insert({.id = next_entry, .priority = upto(3), .order = next_entry}, request);
      }
      run_pass(
          machine, queue, running, now, {}, [&](EntryId entry, const Placement& placement, std::int64_t end) {
            ++started;
            runs[++next_key] = {placement, end, owner[entry]};
            for (const Hold& hold : list) {
              const bool there = std::any_of(placement.nodes.begin(), placement.nodes.end(),
                                             [&](const NodeShare& share) { return share.node == hold.node; });
              if (there && hold.cpus == 0 && hold.id != owner[entry]) {
                EXPECT_FALSE(overlaps(hold, now, end)) << "seed " << seed << ", entry " << entry;
              }
            }
            for (const NodeShare& share : placement.nodes) {
              if (owner[entry] == 0) continue;
              const auto own = holds->find(share.node, owner[entry]);
              EXPECT_TRUE(own && overlaps(holds->all()[*own], now, now + 1)) << "seed " << seed;
            }
            return next_key;
          });
      // Of what is held now, others have nothing; and what will be held is free of them in time.
      for (const Hold& hold : holds->all()) {
        for (const std::int64_t time : {now, hold.start}) {
          if (time < now || !overlaps(hold, time, time + 1)) continue;
          std::int64_t others = 0, own = 0;
          for (const auto& [key, run] : runs) {
            if (run.end <= time) continue;
            for (const NodeShare& share : run.placement.nodes) {
              if (share.node == hold.node) (run.reservation == hold.id ? own : others) += share.cpus;
            }
          }
          const std::int64_t held = hold.cpus == 0 ? kCpus : hold.cpus;
          EXPECT_LE(others, kCpus - held) << "seed " << seed << " at " << time;
          EXPECT_LE(own, held) << "seed " << seed << " at " << time;
        }
      }
    }
    EXPECT_GT(started, 10u);
  }
}

}  // namespace
}  // namespace minke::sched
