// Shared by minke metrics, minke jobs and the daemon's keeper of metrics: finds a job's metrics, and puts
// them into its record.
#pragma once

#include <string>

#include "engine/engine.h"
#include "helpers/metric_search.h"
#include "model/job_record.pb.h"

namespace minke::helpers {

MetricSearch search_for(const model::JobRecord& job, const std::string& home,
                        std::vector<model::JobRecord> rivals);
// The same, with the rivals that the daemon reports.
MetricSearch search_for(engine::Engine& cluster, const model::JobRecord& job);
// `minke keep-metrics`: reads job numbers on standard input and puts the jobs' metrics into their records.
int metric_keeper(const std::string& home);
// Puts them into the accounting record of an ended job. Returns false if it was refused, or there are none.
bool keep_metrics(engine::Engine& cluster, const model::JobRecord& job, const ml::MetricSet& set);

}  // namespace minke::helpers
