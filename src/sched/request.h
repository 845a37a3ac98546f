// Request: what one job demands of the machine, in the scheduler's own terms. It is made once from
// the user's options, the partition and the defaults. Jobs with equal Requests form one class:
// whether one of them fits holds for all.
//
// Defaults, as in Slurm: one task per node; as few nodes as the tasks need; one CPU per task; the partition's
// DefMemPerCPU or DefMemPerNode. Unlike Slurm, a job that names no memory in a partition without a default
// reserves none. Slurm's "all memory of the node" would let a small machine run one job at a time. Pure
// values and functions. Any thread.
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
  kWholeNode,  // --mem=0: all memory of each node, of which nothing may be in use
};

struct GresDemand {
  GresNameId name = 0;
  GresKindId kind = kAnyKind;  // kAnyKind: any type
  std::uint32_t per_node = 0;
  std::uint32_t per_task = 0;
  std::uint32_t per_job = 0;  // spread over the nodes, at least one each; excludes the other two
  bool operator==(const GresDemand&) const = default;
};

struct LicenseDemand {
  LicenseId license = 0;
  std::uint32_t count = 0;
  bool operator==(const LicenseDemand&) const = default;
};

// At least `nodes` of the job's nodes must have all of these features.
struct FeatureCount {
  std::vector<FeatureId> features;
  std::uint32_t nodes = 0;
  bool operator==(const FeatureCount&) const = default;
};

struct Request {
  PartitionId partition = 0;
  std::uint32_t time_limit_minutes = kUnlimited;
  std::uint32_t time_limit_extra_seconds = 0;  // less than a minute; traces of other clusters need it
  std::uint32_t time_min_minutes = 0;  // --time-min: the shortest limit with which it may be started; 0: none
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 1;
  std::vector<std::uint32_t> node_counts;  // ascending, within these; one of them; empty: any
  bool as_many_nodes = false;              // for a node range: as many nodes as are free; else the fewest
  bool least_loaded = false;               // LLN: of nodes that will do, those with most of their CPUs free
  std::uint32_t tasks = 0;                 // in all; 0: tasks_per_node on every node
  std::uint32_t tasks_per_node = 0;    // 0: no limit (with `tasks`); if tasks is 0: exactly; else the most
  std::uint32_t tasks_per_socket = 0;  // 0: no limit
  std::uint32_t tasks_per_core = 0;    // 0: no limit
  std::uint32_t cpus_per_task = 1;
  std::uint32_t min_cpus_per_node = 1;
  std::uint32_t cpus_per_gpu = 0;
  MemoryDemand memory = MemoryDemand::kNone;
  std::uint64_t memory_mib = 0;
  std::uint64_t tmp_mib = 0;     // required size of the node's /tmp; not consumed
  std::vector<GresDemand> gres;  // ascending by name; typed ones before the one of any type
  std::vector<std::vector<FeatureId>>
      any_of;  // a node needs all features of one of these; empty: no constraint
  std::vector<std::vector<std::vector<FeatureId>>>
      cases;  // not empty: any_of is one of these, the first one that suits all nodes
  std::vector<FeatureCount> feature_counts;
  std::vector<NodeId> required;         // ascending; all of them belong to the job
  std::vector<NodeId> excluded;         // ascending
  bool exclusive = false;               // whole idle nodes: all their CPUs and GRES; memory as requested
  bool contiguous = false;              // the nodes must follow one another in the layout
  NodeRules rules;                      // rules of its partition; the caller sets the user
  std::uint32_t reservation = 0;        // a HoldId: only what that holds; 0: what no reservation holds
  bool overcommit = false;              // one task's CPUs per node for any number of tasks
  std::vector<LicenseDemand> licenses;  // ascending by id; with any_license in the order of preference
  bool any_license = false;             // one of them will do
  // Identifies the limits, other than the machine's, that decide whether it may start. The caller assigns it;
  // it is equal for equal limits and equal requests. 0: none. See LimitGate.
  std::uint32_t limit_group = 0;
  // The further components of a heterogeneous job. They are placed together with this one or not at all, and
  // have no companions themselves.
  std::vector<Request> companions;

  // The run time that planning assumes, in s.
  std::int64_t planned_seconds() const {
    return limit_seconds(time_limit_minutes) + time_limit_extra_seconds;
  }
  bool operator==(const Request&) const = default;
};

// The least that each of the job's nodes must have. Used for quick refusals only.
std::uint64_t least_cpus_on_a_node(const Request& request);
std::uint64_t least_gres_on_a_node(const Request& request);  // devices of all names
// Returns why a job of that limit group may not start now; nothing if it may. Each pass asks again.
using LimitGate = std::function<std::optional<model::StateReason>(std::uint32_t limit_group)>;
// Returns the first reason that the gate gives for the request or one of its companions.
std::optional<model::StateReason> refused(const LimitGate& gate, const Request& request);

struct RequestHash {
  std::size_t operator()(const Request& request) const;
};

// What the partition's rules count on nodes. The caller sets the user.
NodeRules rules_of(const model::PartitionRecord& partition, PartitionId id);

// --nodelist and --exclude, expanded from their hostlists by the caller.
struct NodeNames {
  std::vector<std::string> required;
  std::vector<std::string> excluded;
};

// Errors carry Slurm's numbers (2014: no node of the partition could ever run it; 2051: time limit; 2018:
// unknown node; …). The message names the option and what the partition offers instead. A returned Request
// fits the idle machine with all its nodes up.
Result<Request> make_request(const model::JobSpec& spec, const model::PartitionRecord& partition,
                             const Machine& machine, const NodeNames& names = {});

}  // namespace minke::sched
