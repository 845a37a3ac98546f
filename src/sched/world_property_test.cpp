// A World of inconsistent records, such as lists that were taken at several
// moments or were misread may contain.
#include <gtest/gtest.h>

#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "sched/test_records.h"
#include "sched/world.h"

namespace minke::sched {
namespace {

using namespace model;
using testing::Cluster;
using testing::kNow;
using testing::make_gres;

Gres draw_gres(testing::Random& random) {
  return make_gres(random.one_in(2) ? "" : "a100", random.up_to(4), random.one_in(3) ? "shard" : "gpu");
}

void draw_holdings(testing::Random& random, JobRecord& job) {
  for (std::uint32_t left = random.up_to(3); left > 0; --left) {
    NodeAllocation& node = *job.add_nodes();
    node.set_node(testing::node_name(random.up_to(3)));
    node.set_cpus(random.up_to(9));
    node.set_memory_mib(random.one_in(9) ? ~std::uint64_t{0} : random.up_to(9000));
    for (const char* name : {"gpu", "shard"}) {
      if (random.one_in(2)) continue;
      GresAllocation& gres = *node.add_gres();
      gres.set_name(name);
      gres.set_type(random.one_in(2) ? "" : "a100");
      for (std::uint32_t i = random.up_to(3); i > 0; --i) gres.add_indices(random.up_to(70));
    }
  }
  job.set_node_list(random.one_in(2) ? "n[1-3]" : "n[2");
  job.set_num_cpus(random.up_to(20));
  *job.add_tres_gres() = draw_gres(random);
  job.set_start_time(random.one_in(9) ? -5 : kNow - random.up_to(9000));
}

void draw_job(testing::Random& random, std::uint32_t id, JobRecord& job) {
  job.set_state(random.one_in(2) ? JOB_PENDING : static_cast<JobState>(random.up_to(5)));
  job.set_completing(random.one_in(9));
  job.set_reason(static_cast<StateReason>(random.one_in(8) ? random.up_to(50) : 0));
  job.set_time_limit_minutes(random.one_in(5) ? kUnlimited * random.up_to(1) : random.up_to(99));
  job.set_eligible_time(kNow + 300 - random.up_to(600));
  job.set_array_job_id(random.one_in(3) ? random.up_to(5) : 0);
  if (random.one_in(2)) job.set_array_task_id(random.up_to(9));
  IndexRange& range = *job.mutable_array_pending()->add_ranges();
  range.set_first(random.up_to(9));
  range.set_last(random.one_in(5) ? 0xffffffff : random.up_to(9));
  job.mutable_array_pending()->set_max_running(random.up_to(2));
  job.set_het_job_id(random.one_in(6) ? random.between(1, 5) : 0);
  job.set_het_job_offset(random.up_to(2));
  job.set_het_job_id_set(random.one_in(2) ? "1-2" : "1-");
  draw_holdings(random, job);
  JobSpec& spec = *job.mutable_spec();
  if (random.one_in(2)) spec.clear_min_nodes();
  spec.set_exclusive(random.one_in(2));
  spec.set_licenses(random.one_in(3) ? "matlab:2" : "");
  spec.set_reservation(random.one_in(5) ? "kept,none" : "");
  spec.set_node_list(random.one_in(9) ? "n[0" : "");
  if (random.one_in(4)) *spec.add_gres_per_node() = draw_gres(random);
  if (!random.one_in(4)) return;
  Dependency& term = *spec.add_dependencies();
  term.set_type(static_cast<DependencyType>(random.up_to(6)));
  term.set_job_id(random.up_to(9));
  term.set_whole_array(random.one_in(2));
  term.set_status(static_cast<DependencyStatus>(random.up_to(2)));
  spec.set_dependency_any(id % 2 == 0);
}

// Nothing that a cluster may show ends the program that looks at it.
TEST(World, AnyRecordsAreBorne) {
  std::size_t forecasts = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    testing::Random random(seed);
    Cluster cluster;
    *cluster.records.nodes[3].add_gres() = make_gres("", 4, "shard");
    for (NodeRecord& node : cluster.records.nodes) {
      node.set_allocated_cpus(random.up_to(6));
      node.set_allocated_memory_mib(random.one_in(9) ? ~std::uint64_t{0} : random.up_to(9000));
      *node.add_allocated_gres() = draw_gres(random);
      *node.add_allocated_gres() = draw_gres(random);
      node.set_state(static_cast<NodeState>(random.one_in(4) ? random.up_to(5) : 0));
    }
    cluster.records.licenses.push_back({"matlab", random.up_to(3), random.up_to(5)});
    ReservationRecord& kept = cluster.records.reservations.emplace_back();
    kept.set_name("kept");
    kept.set_start_time(kNow + 900 - random.up_to(1800));
    kept.set_end_time(kNow + 1800 - random.up_to(1800));
    kept.add_shares()->set_node(testing::node_name(random.up_to(5)));
    for (const char* flag : {"TIME_FLOAT", "WEEKDAY", "WEEKEND", "MAGNETIC", "FLEX"})
      if (random.one_in(4)) kept.add_flags(flag);
    for (std::uint32_t id = 0; id < 12; ++id) draw_job(random, id, cluster.waits(id, 1, "main,wide"));
    const World world = cluster.world();
    const WaitReasons reasons = world.wait_reasons();
    forecasts += world.forecast().size();
    for (std::uint32_t id = 0; id < 12; ++id) {
      world.start_of(id);
      world.reason_of(reasons, id);
      world.jobs_before(id);
      world.end_of(id);
    }
    world.ends();
  }
  EXPECT_GT(forecasts, 100u);
}

}  // namespace
}  // namespace minke::sched
