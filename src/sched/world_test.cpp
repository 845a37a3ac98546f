#include "sched/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "sched/test_records.h"

namespace minke::sched {
namespace {

using namespace model;
using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kHour;
using testing::kNow;
using testing::make_gres;

std::int64_t start(const World& world, std::uint32_t id, World::Trust trust = World::Trust::kBeliefs) {
  const auto expected = world.start_of(id, trust);
  return expected && !expected->after_unlimited ? expected->start - kNow : -1;
}

StateReason reason(const World& world, std::uint32_t id) {
  return world.reason_of(world.wait_reasons(), id);
}

TEST(World, SaysWhenAndWhyOfThoseWhoWaitTheirTurn) {
  Cluster cluster;
  cluster.runs(1, {"n0", "n1"}, 600);
  cluster.waits(2, 2);
  cluster.waits(3);
  cluster.waits(4, 1, "wide");
  const World world = cluster.world();
  EXPECT_THAT(world.notes(), IsEmpty());
  EXPECT_EQ(start(world, 2), kHour - 600);
  EXPECT_EQ(start(world, 3), 2 * kHour - 600);
  EXPECT_EQ(start(world, 4), 0);
  EXPECT_EQ(reason(world, 2), WAIT_RESOURCES);
  EXPECT_EQ(reason(world, 3), WAIT_PRIORITY);
  EXPECT_THAT(world.jobs_before(3), ElementsAre(2));
  EXPECT_EQ(world.forecast().size(), 3u);
  EXPECT_EQ(world.end_of(1)->limit, kNow + kHour - 600);
  EXPECT_EQ(start(world, 1), -1);
  EXPECT_EQ(world.find(99), nullptr);
  EXPECT_EQ(start(world, 99), -1);
}

TEST(World, RunTimesOfThoseThatEndedAreBelieved) {
  Cluster cluster;
  for (std::uint32_t id = 1; id <= 20; ++id) cluster.ended(id, 360);
  cluster.runs(50, {"n0", "n1"});
  cluster.waits(51);
  const World world = cluster.world();
  EXPECT_EQ(world.beliefs().runs(), 20u);
  EXPECT_EQ(world.end_of(50)->expected, kNow + 360);
  EXPECT_EQ(start(world, 51), 360);
  EXPECT_EQ(start(world, 51, World::Trust::kLimits), kHour);
}

TEST(World, WhoMayNotStartNowIsNotInTheQueue) {
  Cluster cluster;
  cluster.waits(1).set_priority(0);
  cluster.waits(2).set_reason(ASSOC_GRP_CPU);
  JobRecord& later = cluster.waits(3);
  later.mutable_spec()->set_begin_time(kNow + 900);
  later.set_eligible_time(kNow + 900);
  Dependency& term = *cluster.waits(4).mutable_spec()->add_dependencies();
  term.set_type(AFTER_ANY);
  term.set_job_id(3);
  JobRecord& too_large = cluster.waits(5, 2);
  too_large.mutable_spec()->set_cpus_per_task(64);
  const World world = cluster.world();
  EXPECT_EQ(world.queue().size(), 0u);
  EXPECT_EQ(reason(world, 1), WAIT_HELD_USER);
  EXPECT_EQ(reason(world, 2), ASSOC_GRP_CPU);
  EXPECT_EQ(reason(world, 3), WAIT_TIME);
  EXPECT_EQ(reason(world, 4), WAIT_DEPENDENCY);
  EXPECT_EQ(reason(world, 5), FAIL_BAD_CONSTRAINTS);
  EXPECT_THAT(world.obstacle(5)->detail, HasSubstr("CPU"));
  EXPECT_EQ(start(world, 1), -1);
  EXPECT_EQ(start(world, 2), -1);
  EXPECT_EQ(start(world, 3), 900);
  EXPECT_EQ(start(world, 4), 900 + kHour);
  EXPECT_THAT(world.notes(), ElementsAre(HasSubstr("job 2: limits"), HasSubstr("job 5: what it asks for")));
}

TEST(World, TasksOfAnArrayStartAsItsThrottleLets) {
  Cluster cluster;
  JobRecord& task = cluster.runs(11, {"n0"});
  task.set_array_job_id(10);
  task.set_array_task_id(1);
  JobRecord& rest = cluster.waits(10);
  rest.set_array_job_id(10);
  IndexRange& range = *rest.mutable_array_pending()->add_ranges();
  range.set_first(2);
  range.set_last(9);
  range.set_step(1);
  rest.mutable_array_pending()->set_max_running(1);
  {
    const World world = cluster.world();
    EXPECT_EQ(reason(world, 10), WAIT_ARRAY_TASK_LIMIT);
    EXPECT_EQ(start(world, 10), kHour);
    EXPECT_EQ(world.find_task(10, 1)->job_id(), 11u);
    EXPECT_EQ(world.find_task(10, 7)->job_id(), 10u);
    EXPECT_EQ(world.find_task(10, 77), nullptr);
  }
  cluster.records.jobs.back().mutable_array_pending()->set_max_running(3);
  const World world = cluster.world();
  EXPECT_EQ(world.queue().find(*world.entry(10))->startable, 2u);
  EXPECT_EQ(start(world, 10), 0);
}

TEST(World, AJobInSeveralPartitionsStartsInTheFirstThatHasRoom) {
  Cluster cluster;
  cluster.runs(1, {"n0", "n1"});
  cluster.waits(2, 1, "main,wide");
  const World world = cluster.world();
  EXPECT_EQ(world.queue().size(), 2u);
  EXPECT_EQ(start(world, 2), 0);
}

TEST(World, ComponentsOfAHeterogeneousJobStartTogether) {
  Cluster cluster;
  cluster.runs(1, {"n0"});
  for (const std::uint32_t id : {2u, 3u}) {
    JobRecord& component = cluster.waits(id);
    component.set_het_job_id(2);
    component.set_het_job_offset(id - 2);
    component.set_het_job_id_set("2-3");
  }
  const World world = cluster.world();
  EXPECT_EQ(world.queue().size(), 1u);
  EXPECT_EQ(start(world, 2), kHour);
  EXPECT_EQ(start(world, 3), kHour);
  EXPECT_EQ(reason(world, 3), WAIT_RESOURCES);
  cluster.records.jobs.pop_back();
  const World half = cluster.world();
  EXPECT_EQ(start(half, 2), -1);
  EXPECT_THAT(half.notes(), ElementsAre(HasSubstr("components")));
}

TEST(World, WhatNobodyShowsIsTakenUntilNobodyKnowsWhen) {
  Cluster cluster;
  cluster.records.nodes[0].set_allocated_cpus(3);
  cluster.records.nodes[3].set_allocated_cpus(1);
  *cluster.records.nodes[3].add_allocated_gres() = make_gres("a100", 2);
  cluster.records.licenses.push_back({"matlab", 2, 2});
  cluster.waits(1, 2);
  JobRecord& gpu = cluster.waits(2, 1, "wide");
  gpu.mutable_spec()->set_exclusive(false);
  *gpu.mutable_spec()->add_gres_per_node() = make_gres("", 1);
  cluster.waits(3, 1, "wide").mutable_spec()->set_licenses("matlab");
  const World world = cluster.world();
  EXPECT_EQ(world.machine().free_cpus(0), 1);
  for (const std::uint32_t id : {1u, 2u, 3u}) {
    ASSERT_TRUE(world.start_of(id)) << id;
    EXPECT_TRUE(world.start_of(id)->after_unlimited) << id;
  }
  EXPECT_THAT(world.notes(), ElementsAre(HasSubstr("n[0,3]"), HasSubstr("matlab")));
  EXPECT_THAT(world.ends(), IsEmpty());
}

TEST(World, AnAllocationMayBeKnownByItsNodesAlone) {
  Cluster cluster;
  JobRecord& job = cluster.runs(1, {"n2", "n3"});
  job.clear_nodes();
  job.set_node_list("n[2-3]");
  job.set_num_cpus(6);
  job.set_memory_mib(4000);
  *job.add_tres_gres() = make_gres("", 1);
  const World world = cluster.world();
  EXPECT_EQ(world.machine().free_cpus(2), 1);
  EXPECT_EQ(world.machine().free_memory_mib(3), 6000);
  EXPECT_EQ(world.machine().free_device_count(0), 1);
  EXPECT_THAT(world.notes(), ElementsAre(HasSubstr("equal parts")));
  EXPECT_EQ(world.ends({"n3"}).size(), 1u);
  EXPECT_THAT(world.ends({"n0"}), IsEmpty());
}

// As lists that were taken at two moments may say.
TEST(World, RecordsThatContradictEachOtherAreBorne) {
  Cluster cluster;
  for (const std::uint32_t id : {1u, 2u}) {
    GresAllocation& gres = *cluster.runs(id, {"n3"}).mutable_nodes(0)->add_gres();
    gres.set_name("gpu");
    gres.set_type("a100");
    gres.add_indices(1);
    gres.add_indices(77);
  }
  cluster.runs(3, {"n9"});
  cluster.waits(4);
  cluster.waits(4, 2);
  cluster.waits(5, 1, "nowhere");
  cluster.waits(6).mutable_spec()->set_reservation("none");
  cluster.add_partition("odd", "n[0-").set_priority_tier(3);
  cluster.add_partition("more", "n[0-9]");
  const World world = cluster.world();
  EXPECT_EQ(world.machine().free_cpus(3), -4);
  EXPECT_EQ(start(world, 4), 0);
  EXPECT_EQ(reason(world, 5), FAIL_BAD_CONSTRAINTS);
  EXPECT_EQ(reason(world, 6), WAIT_RESERVATION);
  EXPECT_EQ(world.notes().size(), 5u);
}

TEST(World, WhatIsNoClusterIsAnError) {
  Cluster cluster;
  EXPECT_FALSE(World::build({}, kNow));
  cluster.records.nodes.push_back(cluster.records.nodes.front());
  const auto twice = World::build(cluster.records, kNow);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("n0 is given twice"));
}

TEST(World, NodesThatAreDownAndPartitionsThatAreShutStartNothing) {
  Cluster cluster;
  cluster.records.nodes[0].set_state(NODE_DOWN);
  cluster.records.partitions[1].set_state("DOWN");
  cluster.waits(1, 2);
  cluster.waits(2, 1, "wide");
  cluster.waits(3);
  const World world = cluster.world();
  EXPECT_EQ(reason(world, 1), WAIT_NODE_NOT_AVAIL);
  EXPECT_EQ(reason(world, 2), WAIT_PART_DOWN);
  EXPECT_EQ(start(world, 1), -1);
  EXPECT_EQ(start(world, 2), -1);
  EXPECT_EQ(start(world, 3), 0);
}

TEST(World, ReservationsAreKeptFree) {
  Cluster cluster;
  ReservationRecord& kept = cluster.records.reservations.emplace_back();
  kept.set_name("kept");
  kept.set_start_time(kNow + 1800);
  kept.set_end_time(kNow + 5400);
  kept.add_shares()->set_node("n0");
  kept.add_shares()->set_node("n1");
  cluster.waits(1);
  cluster.waits(2).mutable_spec()->set_reservation("kept");
  cluster.waits(3).set_time_limit_minutes(30);
  const World world = cluster.world();
  EXPECT_EQ(start(world, 1), 5400);
  EXPECT_EQ(start(world, 2), 1800);
  EXPECT_EQ(start(world, 3), 0);
  EXPECT_EQ(reason(world, 2), WAIT_RESERVATION);
}

TEST(World, AJobThatIsNotThereYetIsForecast) {
  Cluster cluster;
  cluster.runs(1, {"n0", "n1"});
  cluster.waits(2, 2);
  const World world = cluster.world();
  JobSpec spec;
  spec.set_min_nodes(2);
  spec.set_max_nodes(2);
  spec.set_time_limit_minutes(30);
  EXPECT_EQ(world.start_of(spec, 1000).value()->start, kNow + 2 * kHour);
  EXPECT_EQ(world.start_of(spec, 1000, 999).value()->start, kNow + kHour);
  spec.set_partition("main,wide");
  EXPECT_EQ(world.start_of(spec, 1000).value()->start, kNow);
  spec.set_begin_time(kNow + 60);
  EXPECT_EQ(world.start_of(spec, 1000).value()->start, kNow + 60);
  spec.set_min_nodes(9);
  spec.set_max_nodes(9);
  EXPECT_FALSE(world.start_of(spec, 1000));
}

TEST(World, AJobIsForecastAsIfItAskedForSomethingElse) {
  Cluster cluster;
  cluster.runs(1, {"n0", "n1"});
  cluster.waits(2, 2).set_time_limit_minutes(120);
  cluster.waits(3, 1);
  const World world = cluster.world();
  EXPECT_EQ(start(world, 3), 3 * kHour);
  JobSpec spec = world.find(3)->spec();
  spec.set_partition("wide");
  EXPECT_EQ(world.start_if(3, spec).value()->start, kNow);
  EXPECT_FALSE(world.start_if(1, spec));
  EXPECT_FALSE(world.start_if(99, spec));
}

}  // namespace
}  // namespace minke::sched
