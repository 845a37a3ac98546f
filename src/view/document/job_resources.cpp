// What a job holds, node by node and core by core, for --json.
#include <string>
#include <vector>

#include "model/allocation.pb.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "text/array_spec.h"
#include "view/document/records.h"

namespace minke::view {
namespace {

using model::JobRecord;

// The cores of the node, and which of them are the job's. Nothing where it is not known which.
void describe_sockets(Document& document, const model::NodeAllocation& node, const NodeLayouts* layouts,
                      bool in_use) {
  document.begin_array("sockets");
  const auto layout = layouts != nullptr ? layouts->find(node.node()) : NodeLayouts::const_iterator();
  const auto cpus = text::parse_index_list(node.cpu_ids());
  if (layouts != nullptr && layout != layouts->end() && cpus) {
    const auto [sockets, cores, threads] = layout->second;
    std::vector<bool> held(size_t{sockets} * cores);
    for (const model::IndexRange& range : cpus->ranges())
      for (uint64_t cpu = range.first(); cpu <= range.last(); ++cpu)
        if (cpu / threads < held.size()) held[cpu / threads] = true;
    for (size_t socket = 0; socket < sockets; ++socket) {
      document.begin_object();
      document.integer("index", static_cast<int64_t>(socket));
      document.begin_array("cores");
      for (size_t core = 0; core < cores; ++core) {
        document.begin_object();
        document.integer("index", static_cast<int64_t>(core));
        document.text("status", held[socket * cores + core] ? in_use ? "ALLOCATED,IN_USE" : "ALLOCATED"
                                                            : "UNALLOCATED");
        document.end();
      }
      document.end();
      document.end();
    }
  }
  document.end();
}

// In v0.0.40: lists of other names, on the level of the job's nodes.
void describe_old_resources(Document& document, const JobRecord& job) {
  document.text("nodes", job.node_list());
  document.integer("allocated_cpus", job.num_cpus());
  document.integer("allocated_hosts", job.nodes_size());
  document.begin_array("allocated_nodes");
  for (const model::NodeAllocation& node : job.nodes()) {
    document.begin_object();
    document.begin_object("sockets");
    document.end();
    document.text("nodename", node.node());
    document.integer("cpus_used", node.cpus());
    for (const char* key : {"memory_used", "memory_allocated"})
      document.integer(key, static_cast<int64_t>(node.memory_mib()));
    document.end();
  }
  document.end();
}

}  // namespace

void describe_job_resources(Document& document, const JobRecord& job, const NodeLayouts* layouts) {
  if (job.nodes().empty()) return;
  const bool in_use = !is_finished(job.state()) || job.completing();
  document.begin_object("job_resources");
  document.text("select_type", "CPU,CR_CPU_MEMORY");  // an older word, and the newest one
  if (!document.has_object("nodes")) {
    describe_old_resources(document, job);
    return document.end();
  }
  document.begin_object("nodes");
  document.integer("count", job.nodes_size());
  document.text("select_type", "ONE_ROW");
  document.text("list", job.node_list());
  document.boolean("whole", job.spec().exclusive() || !job.spec().exclusive_mode().empty());
  document.begin_array("allocation");
  int64_t index = 0;
  for (const model::NodeAllocation& node : job.nodes()) {
    document.begin_object();
    document.integer("index", index++);
    document.text("name", node.node());
    document.begin_object("cpus");
    document.integer("count", node.cpus());
    document.integer("used", in_use ? node.cpus() : 0);
    document.end();
    document.begin_object("memory");
    document.integer("used", in_use ? static_cast<int64_t>(node.memory_mib()) : 0);
    document.integer("allocated", static_cast<int64_t>(node.memory_mib()));
    document.end();
    describe_sockets(document, node, layouts, in_use);
    document.end();
  }
  document.end();
  document.end();
  document.integer(
      "cpus", static_cast<int64_t>(job.spec().exclusive() ? requested_tres_of(job).cpus : job.num_cpus()));
  document.end();
}

}  // namespace minke::view
