// What of /metrics has the names of prometheus-slurm-exporter, which dashboards made before Slurm had metrics
// of its own ask for: slurm_queue_…, slurm_cpus_…, slurm_gpus_…, slurm_scheduler_… and what nodes,
// partitions, accounts and users have. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minke::view {

struct MetricsFacts;

using MetricLabels = std::vector<std::pair<std::string_view, std::string>>;
using AddMetric = std::function<void(const std::string& name, std::string_view help,
                                     const MetricLabels& labels, double value)>;

void add_exporter_names(const MetricsFacts& facts, const AddMetric& add);

}  // namespace minke::view
