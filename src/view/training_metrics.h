// The metrics of training programs, as minke metrics and minke jobs show them: the curves of one job, or one
// line for each of several jobs, ranked. Pure.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace minke::ml {
class MetricSet;
}  // namespace minke::ml

namespace minke::model {
class JobRecord;
class Metric;
}  // namespace minke::model

namespace minke::view {

using Metrics = google::protobuf::RepeatedPtrField<model::Metric>;

// The curves of one job. `set` has the points of metrics whose files were read; others have no curve.
struct CurveOptions {
  size_t screen_width = 80;
  bool curves = true;  // or only the table
  bool all = false;    // or the first few curves
};
std::string metrics_report(const model::JobRecord& job, const Metrics& metrics, const ml::MetricSet& set,
                           const CurveOptions& options);
std::string metrics_json(const model::JobRecord& job, const Metrics& metrics, const ml::MetricSet& set);

// A line of the list of jobs.
struct TrackedJob {
  const model::JobRecord* job = nullptr;
  Metrics metrics;
};
struct Ranking {
  std::vector<std::string> metrics;  // one column each; the first one ranks
  std::string value = "last";        // or least, largest
  bool ascending = false;
};
bool has_any(const TrackedJob& job, const std::vector<std::string>& metrics);
std::vector<std::string> first_metrics(
    const std::vector<TrackedJob>& jobs);  // as many as a line has room for
// Jobs without the metric come last; equal ones keep their order.
void rank(std::vector<TrackedJob>& jobs, const Ranking& ranking);
std::string ranking_table(const std::vector<TrackedJob>& jobs, const Ranking& ranking, int64_t now);
std::string ranking_json(const std::vector<TrackedJob>& jobs);

}  // namespace minke::view
