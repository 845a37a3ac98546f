// Decides which partitions accept a job. Looks up its user's groups.
#include <algorithm>
#include <string>

#include "engine/embedded/accounts/users.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/state/job.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "text/hostlist.h"
#include "text/memory.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr uint32_t kMostCpus = 0xfffffffe;  // the next number means no bound

bool has(const google::protobuf::RepeatedPtrField<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// "main, gpu and others": those that everybody may see, a few of them.
std::string names_of(const std::vector<PartitionRecord>& partitions) {
  constexpr size_t kMost = 8;
  std::string names;
  size_t count = 0;
  for (const PartitionRecord& one : partitions) {
    if (one.hidden()) continue;
    if (++count > kMost) return names + " and others";
    names.append(names.empty() ? "" : ", ").append(one.name());
  }
  return names;
}

// `named` tells its account and QOS.
Status admits(const PartitionRecord& partition, const JobSpec& spec, const JobSpec& named, uint32_t uid) {
  if (partition.state() == "DRAIN" || partition.state() == "INACTIVE")
    return failure("partition " + partition.name() + " takes no jobs", kPartitionNotAvailable);
  if (partition.disable_root_jobs() && uid == 0)
    return failure("partition " + partition.name() + " takes no jobs of root", kInvalidUserId);
  if ((partition.root_only() && uid != 0) || (partition.reservation_required() && spec.reservation().empty()))
    return failure("partition " + partition.name() + " takes no such job", kAccessDenied);
  if (!partition.allow_groups().empty() && uid != 0 && !is_in_group(uid, partition.allow_groups()))
    return failure("partition " + partition.name() + " is for some groups only", kPartitionGroup);
  if (partition.has_max_mem_per_node_mib() && spec.mem_per_node_mib() > partition.max_mem_per_node_mib())
    return failure("partition " + partition.name() + " allows " +
                       text::format_mib(partition.max_mem_per_node_mib()) + " of memory on a node",
                   kInvalidTaskMemory);
  const auto refused = [](const auto& allowed, const auto& denied, const std::string& word) {
    if (!allowed.empty()) return !has(allowed, word);
    return has(denied, word);
  };
  if (refused(partition.allow_accounts(), partition.deny_accounts(), named.account())) {
    return failure(
        named.account().empty()
            ? "partition " + partition.name() + " is for some accounts only: name one with --account"
            : "partition " + partition.name() + " is not for account " + named.account(),
        kInvalidAccount);
  }
  if (refused(partition.allow_qos(), partition.deny_qos(), named.qos().empty() ? "normal" : named.qos()))
    return failure("partition " + partition.name() + " is not for this QOS", kInvalidQos);
  return {};
}

// What a job may wait for with EnforcePartLimits=NO. Who may use a partition at all is decided at once.
bool is_limit(int code) {
  return code == kInvalidTaskMemory || code == kPartitionGroup || code == kInvalidAccount ||
         code == kInvalidQos;
}

// A job that asks for more memory per CPU than the partition allows gets more CPUs to make up for it.
void spread_memory(const PartitionRecord& partition, JobSpec& spec) {
  const uint64_t most = partition.max_mem_per_cpu_mib();
  if (most == 0) return;
  if (const uint64_t cpus = (spec.mem_per_node_mib() + most - 1) / most; cpus > std::max(1U, spec.min_cpus()))
    spec.set_min_cpus(static_cast<uint32_t>(std::min<uint64_t>(cpus, kMostCpus)));
  if (spec.mem_per_cpu_mib() <= most) return;
  const uint64_t times = (spec.mem_per_cpu_mib() + most - 1) / most;
  spec.set_mem_per_cpu_mib((spec.mem_per_cpu_mib() + times - 1) / times);
  spec.set_cpus_per_task(static_cast<uint32_t>(
      std::min<uint64_t>(std::max<uint32_t>(1, spec.cpus_per_task()) * times, kMostCpus)));
}

}  // namespace

Status Nodes::choose_partitions(JobSpec& spec, uint32_t uid) const {
  return choose_partitions(spec, uid, spec);
}

Status Nodes::choose_partitions(JobSpec& spec, uint32_t uid, const JobSpec& named) const {
  if (spec.partition() == "default" && find_partition("default") == nullptr) spec.clear_partition();
  spec.set_partition_by_default(spec.partition().empty());
  if (spec.partition().empty() && !core_.config.serves.empty()) {
    spec.set_partition(route(spec));
    if (spec.partition().empty())
      return failure("no partition takes such a job for so long unless it is named", kInvalidTimeLimit);
  }
  const config::PartLimits limits = core_.config.part_limits;
  std::string admitting;
  Status first;
  for (const std::string& name : make_submission(0, spec, default_partition().name()).partitions) {
    const PartitionRecord* partition = find_partition(name);
    if (partition == nullptr)
      return failure("there is no partition " + name + ": there is " + names_of(partitions_),
                     kInvalidPartitionName);
    const Status admitted = admits(*partition, spec, named, uid);
    if (admitted || (limits == config::PartLimits::kNo && is_limit(admitted.error().code))) {
      // As in Slurm, the first that will do decides with ANY, and each one otherwise.
      if (limits != config::PartLimits::kAny || admitting.empty()) spread_memory(*partition, spec);
      admitting += (admitting.empty() ? "" : ",") + name;
    } else if (limits == config::PartLimits::kAll && admitted.error().code != kPartitionNotAvailable) {
      return admitted;
    } else if (first) {
      first = admitted;
    }
  }
  if (admitting.empty()) return first;
  spec.set_partition(admitting);
  return {};
}

bool Nodes::is_larger_than(const JobSpec& spec, const std::string& partition) const {
  const PartitionRecord* record = find_partition(partition);
  if (record == nullptr) return false;
  const auto names = text::expand_hostlist(record->nodes());
  if (!names) return false;
  uint64_t nodes = 0, cpus = 0;
  for (const NodeRecord& node : nodes_) {
    if (std::find(names->begin(), names->end(), node.name()) == names->end()) continue;
    ++nodes;
    cpus += node.cpus();
  }
  const uint64_t on_nodes = uint64_t{std::max(1U, spec.min_nodes())} * std::max(1U, spec.ntasks_per_node());
  const uint64_t tasks = spec.has_ntasks() ? spec.ntasks() : on_nodes;
  const uint64_t asked = tasks * std::max(1U, spec.cpus_per_task());
  const uint64_t each = spec.ntasks_per_node();
  const bool spread = each > 0 && !spec.has_min_nodes() && (tasks + each - 1) / each > nodes;
  return spread || spec.min_nodes() > nodes || (!spec.overcommit() && asked > cpus);
}

Status Nodes::takes(const std::string& partition, const JobSpec& spec, uint32_t uid) const {
  const PartitionRecord* record = find_partition(partition);
  if (core_.config.part_limits != config::PartLimits::kNo || record == nullptr) return {};
  const Status admitted = admits(*record, spec, spec, uid);
  return admitted || is_limit(admitted.error().code) ? admitted : Status();
}

}  // namespace minke::engine
