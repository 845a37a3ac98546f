// The daemon's data in the format of Prometheus: the names of Slurm 25.11's own metrics for the cluster,
// those of slurm-job-exporter for running jobs, and those of prometheus-slurm-exporter (exporter_names.h).
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/diagnostics.pb.h"
#include "api/measurements.pb.h"
#include "model/cluster.pb.h"

namespace minke::view {

struct MetricsFacts {
  api::MeasurementsReply measured;  // with counts
  std::vector<model::NodeRecord> nodes;
  std::vector<model::PartitionRecord> partitions;
  api::DiagnosticsReply diagnostics;
};

// `path`: "/metrics" for all of them; "/metrics/jobs", "/metrics/jobs-users-accts", "/metrics/nodes",
// "/metrics/partitions", "/metrics/scheduler", "/metrics/usage", "/metrics/exporter" for one kind. Else
// returns nothing.
std::string metrics_text(const MetricsFacts& facts, std::string_view path);

}  // namespace minke::view
