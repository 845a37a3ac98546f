#include "view/training_metrics.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "ml/metrics.h"
#include "model/job_record.pb.h"
#include "model/usage.pb.h"
#include "text/job_id.h"
#include "text/printable.h"
#include "text/state.h"
#include "view/text.h"

namespace minke::view {
namespace {

constexpr size_t kMostCurves = 8;
constexpr size_t kCurveHeight = 5;
constexpr size_t kMostColumns = 4;

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// Users' texts need not be UTF-8.
std::string dump(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Makes each column as wide as its widest cell; the named ones align left, others right.
std::string aligned(const std::vector<std::vector<std::string>>& lines,
                    std::initializer_list<size_t> left_columns) {
  std::vector<size_t> widths(lines[0].size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      const bool left = std::find(left_columns.begin(), left_columns.end(), i) != left_columns.end();
      out += (i == 0 ? "" : "  ") + (left ? line[i] + space : space + line[i]);
    }
    out += "\n";
  }
  return out;
}

// Last values and ranges.
std::string table_of(const Metrics& metrics) {
  std::vector<std::vector<std::string>> lines = {{"METRIC", "LAST", "LEAST", "LARGEST", "STEP", "POINTS"}};
  for (const model::Metric& one : metrics)
    lines.push_back({one.name(), short_number(one.last()), short_number(one.least()),
                     short_number(one.largest()), one.step() < 0 ? "-" : std::to_string(one.step()),
                     std::to_string(one.points())});
  return aligned(lines, {0});
}

std::string curves_of(const Metrics& metrics, const ml::MetricSet& set, const CurveOptions& options) {
  const size_t width = std::min<size_t>(options.screen_width - 14, 100);
  std::string out;
  size_t drawn = 0;
  for (const model::Metric& one : metrics) {
    const ml::Series* series = set.find(one.name());
    if (series == nullptr || series->seen < 2) continue;
    if (++drawn > kMostCurves && !options.all) continue;
    out += "\n" + text::printable(one.name()) + "\n" + ml::draw_curve(*series, width, kCurveHeight);
  }
  if (drawn > kMostCurves && !options.all)
    out += "\n" + std::to_string(drawn - kMostCurves) + " more: --name NAME\n";
  return drawn > 0 ? out + "\n" : out;
}

const model::Metric* find(const TrackedJob& job, const std::string& name) {
  for (const model::Metric& metric : job.metrics) {
    if (metric.name() == name) return &metric;
  }
  return nullptr;
}

double value_of(const model::Metric& metric, const std::string& which) {
  return which == "least" ? metric.least() : which == "largest" ? metric.largest() : metric.last();
}

}  // namespace

std::string metrics_report(const model::JobRecord& job, const Metrics& metrics, const ml::MetricSet& set,
                           const CurveOptions& options) {
  std::string out = "Job " + text::format_job_id(job) + " (" + text::printable(job.spec().name()) + "), " +
                    std::string(text::job_state_name(job.state())) + "\n";
  if (options.curves) out += curves_of(metrics, set, options);
  return out + table_of(metrics);
}

std::string metrics_json(const model::JobRecord& job, const Metrics& metrics, const ml::MetricSet& set) {
  auto list = nlohmann::ordered_json::array();
  for (const model::Metric& one : metrics) {
    nlohmann::ordered_json object = {{"name", one.name()},
                                     {"last", one.last()},
                                     {"least", one.least()},
                                     {"largest", one.largest()},
                                     {"points", one.points()}};
    if (one.step() >= 0) object["step"] = one.step();
    if (const ml::Series* series = set.find(one.name())) {
      auto points = nlohmann::ordered_json::array();
      auto times = nlohmann::ordered_json::array();
      for (const ml::Point& point : series->points) {
        points.push_back({point.step, point.value});
        if (point.time > 0) times.push_back(point.time);
      }
      const bool all_tell = !points.empty() && times.size() == points.size();
      object["curve"] = std::move(points);
      if (all_tell) object["times"] = std::move(times);  // s since the epoch, of each point
    }
    list.push_back(std::move(object));
  }
  return dump({{"job_id", job.job_id()}, {"metrics", std::move(list)}});
}

bool has_any(const TrackedJob& job, const std::vector<std::string>& metrics) {
  return std::any_of(metrics.begin(), metrics.end(),
                     [&](const std::string& name) { return find(job, name) != nullptr; });
}

std::vector<std::string> first_metrics(const std::vector<TrackedJob>& jobs) {
  std::vector<std::string> columns;
  std::set<std::string> names;
  for (const TrackedJob& job : jobs) {
    for (const model::Metric& metric : job.metrics) {
      if (columns.size() < kMostColumns && names.insert(metric.name()).second)
        columns.push_back(metric.name());
    }
  }
  return columns;
}

void rank(std::vector<TrackedJob>& jobs, const Ranking& ranking) {
  const std::string& metric = ranking.metrics.front();
  std::stable_sort(jobs.begin(), jobs.end(), [&](const TrackedJob& a, const TrackedJob& b) {
    const model::Metric *x = find(a, metric), *y = find(b, metric);
    if (x == nullptr || y == nullptr) return x != nullptr;
    const double left = value_of(*x, ranking.value), right = value_of(*y, ranking.value);
    return ranking.ascending ? left < right : left > right;
  });
}

std::string ranking_table(const std::vector<TrackedJob>& jobs, const Ranking& ranking, int64_t now) {
  std::vector<std::vector<std::string>> lines = {{"JOBID", "NAME", "STATE", "ELAPSED"}};
  lines[0].insert(lines[0].end(), ranking.metrics.begin(), ranking.metrics.end());
  for (const TrackedJob& tracked : jobs) {
    const model::JobRecord& job = *tracked.job;
    std::string elapsed;
    append_clock(elapsed, elapsed_seconds(job, now));
    std::vector<std::string>& line = lines.emplace_back();
    line = {text::format_job_id(job), text::printable(job.spec().name()),
            std::string(text::job_state_name(job.state())), elapsed};
    for (const std::string& name : ranking.metrics) {
      const model::Metric* metric = find(tracked, name);
      line.push_back(metric == nullptr ? "-" : short_number(value_of(*metric, ranking.value)));
    }
  }
  return aligned(lines, {1, 2});
}

std::string ranking_json(const std::vector<TrackedJob>& jobs) {
  auto list = nlohmann::ordered_json::array();
  for (const TrackedJob& tracked : jobs) {
    nlohmann::ordered_json object = {{"job_id", text::format_job_id(*tracked.job)},
                                     {"name", tracked.job->spec().name()},
                                     {"state", text::job_state_name(tracked.job->state())}};
    object["metrics"] = nlohmann::ordered_json::object();
    for (const model::Metric& metric : tracked.metrics)
      object["metrics"][metric.name()] = {
          {"last", metric.last()}, {"least", metric.least()}, {"largest", metric.largest()}};
    list.push_back(std::move(object));
  }
  return dump(list);
}

}  // namespace minke::view
