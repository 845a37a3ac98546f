// What minke metrics, minke jobs and the daemon's keeper of metrics share: where a job's metrics are looked
// for, and how they get into its record.
#pragma once

#include <string>

#include "engine/engine.h"
#include "helpers/metric_search.h"
#include "model/job_record.pb.h"

namespace minke::helpers {

MetricSearch search_for(const model::JobRecord& job, const std::string& home,
                        std::vector<model::JobRecord> rivals);
// The same, with its rivals as the daemon tells them.
MetricSearch search_for(engine::Engine& cluster, const model::JobRecord& job);
// `minke keep-metrics`: the metrics of the jobs whose numbers are on standard input go into their records.
int metric_keeper(const std::string& home);
// Into the accounting record of a job that has ended. False: the daemon refused it, or there are none.
bool keep_metrics(engine::Engine& cluster, const model::JobRecord& job, const ml::MetricSet& set);

}  // namespace minke::helpers
