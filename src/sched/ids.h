// Dense ids for the things that the scheduler compares all the time. A MachineLayout assigns them in the
// order of its input; they are valid for that layout only.
#pragma once

#include <cstdint>
#include <limits>

namespace minke::sched {

using NodeId = std::uint32_t;
using PartitionId = std::uint32_t;
using FeatureId = std::uint16_t;
using GresNameId = std::uint16_t;  // "gpu"
using GresKindId = std::uint16_t;  // "gpu" of type "a100": one name and one (perhaps empty) type
using EntryId = std::uint64_t;     // of a pending job or array, chosen by the caller; not 2^64-1
using LicenseId = std::uint16_t;
using RunKey = std::uint64_t;  // of a running job, chosen by the caller

inline constexpr GresKindId kAnyKind = std::numeric_limits<GresKindId>::max();
inline constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

// What partition rules count on a node beside resources; 0: there is no such rule.
struct NodeRules {
  std::uint32_t cpu_group = 0;    // 1 + the partition, if it limits its jobs' CPUs per node or socket
  std::uint32_t group_cpus = 0;   // that limit (MaxCPUsPerNode); kUnlimited: sockets alone are limited
  std::uint32_t user = 0;         // 1 + the uid, if a partition gives a node to one user at a time
  bool alone = false;             // the job is in such a partition (ExclusiveUser)
  std::uint16_t socket_cpus = 0;  // MaxCPUsPerSocket; 0: none. What all sockets of a node make counts
  bool operator==(const NodeRules&) const = default;
  // How many CPUs of a node with so many sockets the group may have in all.
  std::int64_t cpus_on(std::uint32_t sockets) const {
    const std::int64_t of_sockets = std::int64_t{socket_cpus} * sockets;
    return socket_cpus == 0 || of_sockets > group_cpus ? group_cpus : of_sockets;
  }
  // Whether two jobs must not share a node because they are of different users.
  bool repels(const NodeRules& other) const {
    return (alone || other.alone) && user != other.user && user != 0 && other.user != 0;
  }
};

// A job without a time limit is planned as if it ran for a year, as in Slurm. Otherwise a job that waits for
// its nodes could never get a planned start, and would starve.
inline constexpr std::int64_t kUnlimitedSeconds = 365LL * 24 * 3600;

inline constexpr std::int64_t limit_seconds(std::uint32_t time_limit_minutes) {
  return time_limit_minutes == kUnlimited ? kUnlimitedSeconds : std::int64_t{time_limit_minutes} * 60;
}

}  // namespace minke::sched
