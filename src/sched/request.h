// Request: what one job demands of the machine, in the scheduler's own terms. Made once from what the user
// asked for, the partition and the defaults. Jobs with equal Requests are of one class: what holds for one
// (it fits, it does not) holds for all.
//
// Defaults, as in Slurm: one task for each node; as few nodes as the tasks need; one CPU for each task;
// the partition's DefMemPerCPU or DefMemPerNode. Unlike Slurm, a job that names no memory, in a partition
// without default, reserves none: on a small machine, "all of it" would let one job run at a time.
// Pure values and functions. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sched/ids.h"

namespace minke::model {
class JobSpec;
class PartitionRecord;
enum StateReason : int;
}  // namespace minke::model

namespace minke::sched {

class Machine;

enum class MemoryDemand : std::uint8_t {
  kNone,       // reserves nothing
  kPerNode,    // memory_mib on each node
  kPerCpu,     // memory_mib for each CPU that the request needs on a node
  kPerGpu,     // memory_mib for each GPU
  kWholeNode,  // --mem=0: all of each node, and so none of it may be in use
};

struct GresDemand {
  GresNameId name = 0;
  GresKindId kind = kAnyKind;  // kAnyKind: of whatever type
  std::uint32_t per_node = 0;
  std::uint32_t per_task = 0;
  std::uint32_t per_job = 0;  // spread over the nodes, at least one on each; excludes the two others
  bool operator==(const GresDemand&) const = default;
};

struct LicenseDemand {
  LicenseId license = 0;
  std::uint32_t count = 0;
  bool operator==(const LicenseDemand&) const = default;
};

// So many of the job's nodes must have all of these features.
struct FeatureCount {
  std::vector<FeatureId> features;
  std::uint32_t nodes = 0;
  bool operator==(const FeatureCount&) const = default;
};

struct Request {
  PartitionId partition = 0;
  std::uint32_t time_limit_minutes = kUnlimited;
  std::uint32_t time_limit_extra_seconds = 0;  // below a minute, for traces of other clusters
  std::uint32_t time_min_minutes = 0;  // --time-min: it may be started with a limit as short as this; 0: not
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 1;
  bool as_many_nodes = false;        // a range was asked for: as many as are free; else as few as possible
  std::uint32_t tasks = 0;           // in all; 0: tasks_per_node on every node
  std::uint32_t tasks_per_node = 0;  // 0: no limit (with `tasks`), else at most, or exactly where tasks is 0
  std::uint32_t tasks_per_socket = 0;  // 0: no limit
  std::uint32_t tasks_per_core = 0;    // 0: no limit
  std::uint32_t cpus_per_task = 1;
  std::uint32_t min_cpus_per_node = 1;
  std::uint32_t cpus_per_gpu = 0;
  MemoryDemand memory = MemoryDemand::kNone;
  std::uint64_t memory_mib = 0;
  std::uint64_t tmp_mib = 0;     // the node's size of /tmp; not consumed
  std::vector<GresDemand> gres;  // ascending by name; typed ones before the one of any type
  std::vector<std::vector<FeatureId>>
      any_of;  // a node needs all features of one of these; empty: no constraint
  std::vector<std::vector<std::vector<FeatureId>>>
      cases;  // not empty: any_of is one of these, the first that will do for all nodes
  std::vector<FeatureCount> feature_counts;
  std::vector<NodeId> required;         // ascending; all of them belong to the job
  std::vector<NodeId> excluded;         // ascending
  bool exclusive = false;               // whole idle nodes: all their CPUs and GRES, the memory asked for
  bool contiguous = false;              // nodes that follow one another in the layout
  NodeRules rules;                      // of its partition; the user is named by the caller
  std::uint32_t reservation = 0;        // a HoldId: only what that holds; 0: what no reservation holds
  bool overcommit = false;              // the CPUs of one task on each node, however many tasks
  std::vector<LicenseDemand> licenses;  // ascending by id
  // Whose limits decide, beside the machine, whether it may start: chosen by the caller, equal where the same
  // limits hold and the same is asked for; 0: none. See LimitGate.
  std::uint32_t limit_group = 0;
  // The further components of a heterogeneous job: placed together with this one, or not at all. They have no
  // companions themselves.
  std::vector<Request> companions;

  // How long a run is planned to last.
  std::int64_t planned_seconds() const {
    return limit_seconds(time_limit_minutes) + time_limit_extra_seconds;
  }
  bool operator==(const Request&) const = default;
};

// What each of its nodes must have at the least. For quick refusals only.
std::uint64_t least_cpus_on_a_node(const Request& request);
std::uint64_t least_gres_on_a_node(const Request& request);  // devices of all names
// Why a job of that group may not start now; nothing where it may. It is asked again at each pass.
using LimitGate = std::function<std::optional<model::StateReason>(std::uint32_t limit_group)>;
// The first reason among the request and its companions.
std::optional<model::StateReason> refused(const LimitGate& gate, const Request& request);

struct RequestHash {
  std::size_t operator()(const Request& request) const;
};

// What the partition's rules count on nodes; the user is left to the caller.
NodeRules rules_of(const model::PartitionRecord& partition, PartitionId id);

// --nodelist and --exclude, expanded from their hostlists by the caller.
struct NodeNames {
  std::vector<std::string> required;
  std::vector<std::string> excluded;
};

// Errors carry Slurm's numbers (2014 where no node of the partition could ever do, 2051 for the time limit,
// 2018 for an unknown node, …) and a message that names the option and what the partition has instead.
// A Request that is returned would fit the idle machine with all its nodes up.
Result<Request> make_request(const model::JobSpec& spec, const model::PartitionRecord& partition,
                             const Machine& machine, const NodeNames& names = {});

}  // namespace minke::sched
