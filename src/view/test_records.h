// Records for the tests of the listings: jobs and nodes as in a real Slurm 22.05 when it printed the expected
// texts. Its clock was on 2026-11-21 in UTC; times here are seconds after that midnight.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "view/text.h"

namespace minke::view::test {

constexpr int64_t kMidnight = 1795219200;  // 2026-11-21T00:00:00Z

inline int64_t at(int hours, int minutes, int seconds) {
  return kMidnight + hours * 3600 + minutes * 60 + seconds;
}

inline void use_utc() {
  setenv("TZ", "UTC", 1);
  tzset();
}

inline DisplayContext context_at(int hours, int minutes, int seconds) {
  DisplayContext context;
  context.now = at(hours, minutes, seconds);
  context.cluster_name = "minke";
  return context;
}

inline model::JobRecord job(uint32_t id, const std::string& name, model::JobState state,
                            model::StateReason reason = model::WAIT_NO_REASON) {
  model::JobRecord record;
  record.set_job_id(id);
  record.set_state(state);
  record.set_reason(reason);
  record.set_user_name("root");
  record.set_group_name("root");
  record.set_partition("main");
  record.set_time_limit_minutes(60);
  record.set_num_nodes(1);
  record.set_num_cpus(1);
  record.set_num_tasks(1);
  record.set_memory_mib(256);
  record.set_requeue_allowed(true);
  record.mutable_spec()->set_name(name);
  record.mutable_spec()->set_work_dir("/tmp/realslurm/w");
  record.mutable_spec()->set_submit_host("localhost");
  record.set_stdin_path("/dev/null");
  record.set_stdout_path("/tmp/realslurm/w/slurm-" + std::to_string(id) + ".out");
  record.set_stderr_path(record.stdout_path());
  return record;
}

inline void add_range(model::ArraySpec& array, uint32_t first, uint32_t last, uint32_t step = 1) {
  model::IndexRange& range = *array.add_ranges();
  range.set_first(first);
  range.set_last(last);
  range.set_step(step);
}

inline model::JobRecord on_node(model::JobRecord record, const std::string& node, int64_t start) {
  record.set_node_list(node);
  record.set_batch_host(node);
  record.set_start_time(start);
  model::NodeAllocation& allocation = *record.add_nodes();
  allocation.set_node(node);
  allocation.set_cpus(record.num_cpus());
  allocation.set_memory_mib(record.memory_mib());
  return record;
}

inline void add_gres(google::protobuf::RepeatedPtrField<model::Gres>& list, const std::string& type,
                     uint32_t count) {
  model::Gres& gres = *list.Add();
  gres.set_name("gpu");
  gres.set_type(type);
  gres.set_count(count);
}

// n1, n2: 4 CPUs, 4000 MiB, two A100; n3: 2 CPUs, 2000 MiB.
inline model::NodeRecord node(const std::string& name, bool large) {
  model::NodeRecord record;
  record.set_name(name);
  record.set_host_name("localhost");
  record.set_address("127.0.0.1");
  record.set_cpus(large ? 4 : 2);
  record.set_boards(1);
  record.set_sockets(1);
  record.set_cores_per_socket(large ? 4 : 2);
  record.set_threads_per_core(1);
  record.set_memory_mib(large ? 4000 : 2000);
  record.set_weight(1);
  record.set_architecture("x86_64");
  record.set_version("22.05.8");
  record.add_partitions("main");
  if (large) {
    record.add_partitions("short");
    record.add_features("skylake");
    record.add_features("avx512");
    *record.mutable_active_features() = record.features();
    add_gres(*record.mutable_gres(), "a100", 2);
  }
  return record;
}

inline model::PartitionRecord partition(const std::string& name, bool is_default) {
  model::PartitionRecord record;
  record.set_name(name);
  record.set_is_default(is_default);
  record.set_state("UP");
  record.set_nodes(is_default ? "n[1-3]" : "n[1-2]");
  record.set_max_time_minutes(is_default ? kUnlimited : 180);
  record.set_default_time_minutes(is_default ? 60 : 0);
  record.set_max_nodes(kUnlimited);
  record.set_priority_tier(1);
  record.set_priority_job_factor(1);
  record.set_total_cpus(is_default ? 10 : 8);
  record.set_total_nodes(is_default ? 3 : 2);
  record.set_total_memory_mib(is_default ? 10000 : 8000);
  return record;
}

}  // namespace minke::view::test
