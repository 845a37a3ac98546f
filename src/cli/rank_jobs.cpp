// minke jobs: one's own jobs, ranked by what they wrote down of their training.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "api/accounting.pb.h"
#include "cli/tracking.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "helpers/keep_metrics.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/usage.pb.h"
#include "os/minke_home.h"
#include "text/job_id.h"
#include "text/printable.h"
#include "text/state.h"
#include "text/timestamp.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {

namespace {

int complain(const std::string& message) {
  std::fprintf(stderr, "minke: error: %s\n", message.c_str());
  return 1;
}

struct Row {
  const model::JobRecord* job;
  google::protobuf::RepeatedPtrField<model::Metric> metrics;
};

const model::Metric* find(const Row& row, const std::string& name) {
  for (const model::Metric& metric : row.metrics) {
    if (metric.name() == name) return &metric;
  }
  return nullptr;
}

double value_of(const model::Metric& metric, const std::string& which) {
  return which == "least" ? metric.least() : which == "largest" ? metric.largest() : metric.last();
}

}  // namespace

int rank_jobs(const RankOptions& options) {
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  const auto home = os::minke_home();
  if (!home) return complain(home.error().message);
  api::QueryAccountingRequest query;
  query.mutable_filter()->add_uids(::getuid());
  query.mutable_filter()->set_all_states(true);
  if (!options.since.empty()) {
    const auto since = text::parse_time(options.since, std::time(nullptr));
    if (!since) return complain("no time: " + options.since);
    query.set_from(*since);
  }
  const auto found = engine::fetch_accounting(**cluster, query);
  if (!found) return complain(found.error().message);
  std::vector<const model::JobRecord*> records;
  for (const api::AccountedJob* one : found->records) records.push_back(&one->job());
  std::vector<Row> rows;
  std::vector<std::string> disputes;
  for (const api::AccountedJob* one : found->records) {
    const model::JobRecord& job = one->job();
    Row row{&job, job.metrics()};
    if (job.state() == model::JOB_PENDING) continue;
    if (row.metrics.empty() && job.start_time() != 0) {
      helpers::MetricSearch search = helpers::search_for(job, *home, helpers::rivals_of(job, records));
      search.update();
      const ml::MetricSet set = search.all();
      row.metrics = set.record(ml::MetricSet::kMaxSeries);
      if (std::string dispute = search.dispute(); !dispute.empty()) disputes.push_back(std::move(dispute));
      if (job.state() != model::JOB_RUNNING && job.state() != model::JOB_SUSPENDED)
        helpers::keep_metrics(**cluster, job, set);
    }
    if (options.metrics.empty() ||
        std::any_of(options.metrics.begin(), options.metrics.end(),
                    [&](const std::string& name) { return find(row, name) != nullptr; }))
      rows.push_back(std::move(row));
  }
  std::vector<std::string> columns = options.metrics;
  if (columns.empty()) {  // those that most jobs have
    std::set<std::string> names;
    for (const Row& row : rows) {
      for (const model::Metric& metric : row.metrics) {
        if (columns.size() < 4 && names.insert(metric.name()).second) columns.push_back(metric.name());
      }
    }
  }
  for (const std::string& dispute : disputes) std::fprintf(stderr, "minke: %s\n", dispute.c_str());
  if (options.sort && columns.empty()) return complain("no job has metrics to sort by");
  if (options.sort) {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      const model::Metric *x = find(a, columns[0]), *y = find(b, columns[0]);
      if (x == nullptr || y == nullptr) return x != nullptr;
      const double left = value_of(*x, options.value), right = value_of(*y, options.value);
      return options.ascending ? left < right : left > right;
    });
  }
  if (options.json) {
    auto list = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
      nlohmann::ordered_json object = {{"job_id", text::format_job_id(*row.job)},
                                       {"name", row.job->spec().name()},
                                       {"state", text::job_state_name(row.job->state())}};
      object["metrics"] = nlohmann::ordered_json::object();
      for (const model::Metric& metric : row.metrics)
        object["metrics"][metric.name()] = {
            {"last", metric.last()}, {"least", metric.least()}, {"largest", metric.largest()}};
      list.push_back(std::move(object));
    }
    view::write_out(list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return 0;
  }
  std::vector<std::vector<std::string>> lines = {{"JOBID", "NAME", "STATE", "ELAPSED"}};
  lines[0].insert(lines[0].end(), columns.begin(), columns.end());
  for (const Row& row : rows) {
    const model::JobRecord& job = *row.job;
    std::string elapsed;
    view::append_clock(elapsed, view::elapsed_seconds(job, found->now));
    std::vector<std::string> line = {text::format_job_id(job), text::printable(job.spec().name()),
                                     std::string(text::job_state_name(job.state())), elapsed};
    for (const std::string& column : columns) {
      const model::Metric* metric = find(row, column);
      char number[32] = "-";
      if (metric != nullptr) std::snprintf(number, sizeof number, "%.6g", value_of(*metric, options.value));
      line.emplace_back(number);
    }
    lines.push_back(std::move(line));
  }
  std::vector<size_t> widths(lines[0].size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      out += (i == 0 ? "" : "  ") + (i == 1 || i == 2 ? line[i] + space : space + line[i]);
    }
    out += "\n";
  }
  view::write_out(out);
  return 0;
}

}  // namespace minke::cli
