#include "sim/placed.h"

#include <tuple>

#include "model/cluster.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "sim/replay.h"

namespace minke::sim {
namespace {

std::uint64_t share(std::uint64_t whole, std::uint64_t parts) {
  return (whole + parts - 1) / parts;
}

class Maker {
 public:
  Maker(const Trace& trace, std::span<const model::PartitionRecord> partitions, const sched::Machine& machine)
      : trace_(trace), partitions_(partitions), machine_(machine) {}

  PlacedRequests make() {
    result_.request_of.reserve(trace_.jobs.size());
    for (const TraceJob& job : trace_.jobs) {
      const Shape shape{job.asks,       job.processors, job.nodes,    job.gpus,
                        job.memory_mib, job.gpu_type,   job.partition};
      const auto [known, is_new] = known_.try_emplace(shape);
      if (is_new) known->second = make(job);
      result_.request_of.push_back(known->second.request);
      if (known->second.request == kNoRequest) ++result_.refused[known->second.reason];
    }
    return std::move(result_);
  }

 private:
  using Shape = std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t,
                           std::uint32_t, std::uint32_t>;
  struct Made {
    std::uint32_t request = kNoRequest;
    std::string reason;
  };

  Made make(const TraceJob& job) {
    model::JobSpec spec;
    spec.set_time_limit_minutes(static_cast<std::uint32_t>(share(static_cast<std::uint64_t>(job.asks), 60)));
    model::Gres gpu;
    gpu.set_name("gpu");
    const std::string& type = trace_.names[job.gpu_type];
    const auto& layout = machine_.layout();
    if (!type.empty() && layout.gpu_name() && layout.find_gres_kind(*layout.gpu_name(), type))
      gpu.set_type(type);
    if (job.nodes > 0) {
      spec.set_min_nodes(job.nodes);
      spec.set_max_nodes(job.nodes);
      spec.set_ntasks_per_node(1);
      spec.set_cpus_per_task(static_cast<std::uint32_t>(share(job.processors, job.nodes)));
      if (job.memory_mib > 0) spec.set_mem_per_node_mib(share(job.memory_mib, job.nodes));
      gpu.set_count(static_cast<std::uint32_t>(share(job.gpus, job.nodes)));
      if (job.gpus > 0) *spec.add_gres_per_node() = gpu;
    } else {
      spec.set_ntasks(job.processors);
      if (job.memory_mib > 0) spec.set_mem_per_cpu_mib(share(job.memory_mib, job.processors));
      gpu.set_count(job.gpus);
      if (job.gpus > 0) *spec.add_gpus() = gpu;
    }
    auto request = sched::make_request(spec, partition_of(trace_, job, partitions_), machine_);
    if (!request) return {kNoRequest, request.error().message};
    const std::int64_t minutes = job.asks / 60;
    if (minutes < request->time_limit_minutes) {  // to the second
      request->time_limit_minutes = static_cast<std::uint32_t>(minutes);
      request->time_limit_extra_seconds = static_cast<std::uint32_t>(job.asks % 60);
    }
    result_.requests.push_back(std::move(*request));
    return {static_cast<std::uint32_t>(result_.requests.size() - 1), ""};
  }

  const Trace& trace_;
  const std::span<const model::PartitionRecord> partitions_;
  const sched::Machine& machine_;
  std::map<Shape, Made> known_;
  PlacedRequests result_;
};

}  // namespace

const model::PartitionRecord& partition_of(const Trace& trace, const TraceJob& job,
                                           std::span<const model::PartitionRecord> partitions) {
  const model::PartitionRecord* found = &partitions.front();
  for (const auto& partition : partitions) {
    if (partition.name() == trace.names[job.partition]) return partition;
    if (partition.is_default()) found = &partition;
  }
  return *found;
}

PlacedRequests make_requests(const Trace& trace, std::span<const model::PartitionRecord> partitions,
                             const sched::Machine& machine) {
  return Maker(trace, partitions, machine).make();
}

}  // namespace minke::sim
