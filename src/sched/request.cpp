#include "sched/request.h"

#include <algorithm>

#include "model/job_state.pb.h"

namespace minke::sched {
namespace {

struct Mixer {
  std::uint64_t state = 0x9e3779b97f4a7c15;
  void add(std::uint64_t value) {  // splitmix64's finalizer
    state += value + 0x9e3779b97f4a7c15;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    state ^= state >> 31;
  }
};

}  // namespace

namespace {
std::uint64_t least_tasks_on_a_node(const Request& request) {
  if (request.overcommit) return 1;
  if (request.tasks == 0) return std::max(1u, request.tasks_per_node);
  return request.max_nodes == 1 ? request.tasks : 1;
}
}  // namespace

std::uint64_t least_cpus_on_a_node(const Request& request) {
  return std::max<std::uint64_t>(least_tasks_on_a_node(request) * request.cpus_per_task,
                                 request.min_cpus_per_node);
}

std::uint64_t least_gres_on_a_node(const Request& request) {
  const std::uint64_t tasks = least_tasks_on_a_node(request);
  std::uint64_t devices = 0;
  for (const GresDemand& one : request.gres) {
    const std::uint64_t of_job = request.max_nodes == 1 ? one.per_job : std::min(1u, one.per_job);
    devices += one.per_node + one.per_task * tasks + of_job;
  }
  return devices;
}

std::optional<model::StateReason> refused(const LimitGate& gate, const Request& request) {
  if (!gate) return std::nullopt;
  if (request.limit_group != 0) {
    if (const auto reason = gate(request.limit_group)) return reason;
  }
  for (const Request& companion : request.companions) {
    if (const auto reason = refused(gate, companion)) return reason;
  }
  return std::nullopt;
}

std::size_t RequestHash::operator()(const Request& r) const {
  Mixer mixer;
  for (const std::uint64_t value :
       {std::uint64_t{r.partition}, static_cast<std::uint64_t>(r.planned_seconds()),
        std::uint64_t{r.min_nodes}, std::uint64_t{r.max_nodes}, std::uint64_t{r.tasks},
        std::uint64_t{r.tasks_per_node}, std::uint64_t{r.cpus_per_task}, std::uint64_t{r.min_cpus_per_node},
        std::uint64_t{r.cpus_per_gpu}, r.memory_mib,
        static_cast<std::uint64_t>(r.memory) | (r.exclusive ? 256u : 0u) | (r.as_many_nodes ? 512u : 0u) |
            (r.overcommit ? 1024u : 0u) | (r.contiguous ? 2048u : 0u) | (r.least_loaded ? 4096u : 0u)}) {
    mixer.add(value);
  }
  for (const GresDemand& d : r.gres) {
    mixer.add(std::uint64_t{d.name} << 16 | d.kind);
    mixer.add(std::uint64_t{d.per_node} << 32 | d.per_task);
    mixer.add(d.per_job);
  }
  for (const auto& term : r.any_of) {
    for (const FeatureId feature : term) mixer.add(feature);
    mixer.add(~std::uint64_t{0});
  }
  for (const LicenseDemand& d : r.licenses) mixer.add(std::uint64_t{d.license} << 32 | d.count);
  mixer.add(r.any_license ? 1 : 0);
  for (const FeatureCount& one : r.feature_counts) {
    for (const FeatureId feature : one.features) mixer.add(feature);
    mixer.add(~std::uint64_t{one.nodes});
  }
  mixer.add(r.cases.size() << 32 | r.time_min_minutes);
  mixer.add(r.limit_group);
  mixer.add(std::uint64_t{r.rules.user} << 32 | r.rules.group_cpus);
  mixer.add(r.rules.socket_cpus);
  for (const Request& companion : r.companions) mixer.add((*this)(companion));
  for (const NodeId node : r.required) mixer.add(node);
  for (const NodeId node : r.excluded) mixer.add(~std::uint64_t{node});
  return static_cast<std::size_t>(mixer.state);
}

}  // namespace minke::sched
