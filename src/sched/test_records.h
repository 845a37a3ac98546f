// A small cluster in the form of its records, for the tests of World.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "sched/test_cluster.h"
#include "sched/world.h"

namespace minke::sched::testing {

inline constexpr std::int64_t kNow = 1'700'000'000;
inline constexpr std::int64_t kHour = 3600;

// Four nodes of four CPUs. "main", the default, has n0 and n1; "wide" has all. Only n3 has GPUs: two.
class Cluster {
 public:
  Cluster() {
    for (int i = 0; i < 4; ++i) records.nodes.push_back(make_node(node_name(i), 4, 8000));
    *records.nodes[3].add_gres() = make_gres("a100", 2);
    add_partition("main", "n[0-1]").set_is_default(true);
    add_partition("wide", "n[0-3]");
  }
  model::PartitionRecord& add_partition(const std::string& name, const std::string& nodes) {
    model::PartitionRecord& partition = records.partitions.emplace_back();
    partition.set_name(name);
    partition.set_nodes(nodes);
    partition.set_state("UP");
    partition.set_max_time_minutes(kUnlimited);
    partition.set_max_nodes(kUnlimited);
    partition.set_priority_tier(1);
    return partition;
  }
  // Adds a pending job for whole nodes, with a limit of an hour. Lower ids have a higher priority.
  model::JobRecord& waits(std::uint32_t id, std::uint32_t nodes = 1, const std::string& partition = "main") {
    model::JobRecord& job = records.jobs.emplace_back();
    job.set_job_id(id);
    job.set_uid(1000);
    job.set_state(model::JOB_PENDING);
    job.set_priority(1000 - id);
    job.set_time_limit_minutes(60);
    job.set_partition(partition);
    job.set_submit_time(kNow - 60);
    job.set_eligible_time(kNow - 60);
    job.mutable_spec()->set_partition(partition);
    job.mutable_spec()->set_min_nodes(nodes);
    job.mutable_spec()->set_max_nodes(nodes);
    job.mutable_spec()->set_exclusive(true);
    return job;
  }
  // Adds a job that has run for `since` seconds on all CPUs of these nodes, with a limit of an hour.
  model::JobRecord& runs(std::uint32_t id, const std::vector<std::string>& nodes, std::int64_t since = 0) {
    model::JobRecord& job = waits(id, static_cast<std::uint32_t>(nodes.size()));
    job.set_state(model::JOB_RUNNING);
    job.set_start_time(kNow - since);
    for (const std::string& name : nodes) {
      model::NodeAllocation& allocation = *job.add_nodes();
      allocation.set_node(name);
      allocation.set_cpus(4);
      allocation.set_tasks(1);
    }
    return job;
  }
  void ended(std::uint32_t id, std::int64_t seconds) {
    model::JobRecord& job = runs(id, {"n0"}, 10 * kHour + id);
    job.set_state(model::JOB_COMPLETE);
    job.set_end_time(job.start_time() + seconds);
  }
  World world() const {
    auto made = World::build(records, kNow);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  WorldRecords records;
};

}  // namespace minke::sched::testing
