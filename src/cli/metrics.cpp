// minke metrics: the curves of one job, while it runs or afterwards.
#include <fnmatch.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "api/accounting.pb.h"
#include "cli/tracking.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "helpers/keep_metrics.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/usage.pb.h"
#include "text/job_id.h"
#include "text/printable.h"
#include "text/state.h"
#include "view/output.h"

namespace minke::cli {

namespace {

constexpr size_t kMostCurves = 8;
constexpr size_t kCurveHeight = 5;
constexpr auto kBetweenLooks = std::chrono::seconds(2);

int complain(const std::string& message) {
  std::fprintf(stderr, "minke: error: %s\n", message.c_str());
  return 1;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

size_t screen_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 80;
}

Result<model::JobRecord> fetch_job(engine::Engine& cluster, const text::JobReference& wanted,
                                   const std::string& name) {
  api::QueryAccountingRequest query;
  *query.mutable_filter()->add_jobs() = engine::selector_of(wanted);
  query.mutable_filter()->set_all_states(true);
  const auto found = engine::fetch_accounting(cluster, query);
  if (!found && found.error().code != model::kInvalidJobId) return failure(found.error());
  const model::JobRecord* chosen = nullptr;
  for (const api::AccountedJob* one : found ? found->records : std::vector<const api::AccountedJob*>()) {
    if (chosen == nullptr || one->job().job_id() == wanted.job_id) chosen = &one->job();
  }
  if (chosen == nullptr) return failure("there is no job " + name);
  return *chosen;
}

bool is_wanted(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
           return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
         });
}

bool has_ended(const model::JobRecord& job) {
  return job.state() != model::JOB_PENDING && job.state() != model::JOB_RUNNING &&
         job.state() != model::JOB_SUSPENDED;
}

// Lines of names, last values and ranges.
std::string table_of(const google::protobuf::RepeatedPtrField<model::Metric>& metrics) {
  std::vector<std::vector<std::string>> rows = {{"METRIC", "LAST", "LEAST", "LARGEST", "STEP", "POINTS"}};
  for (const model::Metric& one : metrics)
    rows.push_back({one.name(), short_number(one.last()), short_number(one.least()),
                    short_number(one.largest()), one.step() < 0 ? "-" : std::to_string(one.step()),
                    std::to_string(one.points())});
  std::vector<size_t> widths(6);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      out += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    out += "\n";
  }
  return out;
}

std::string json_of(const model::JobRecord& job,
                    const google::protobuf::RepeatedPtrField<model::Metric>& metrics,
                    const ml::MetricSet& set) {
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
      for (const ml::Point& point : series->points) points.push_back({point.step, point.value});
      object["curve"] = std::move(points);
    }
    list.push_back(std::move(object));
  }
  const nlohmann::ordered_json object = {{"job_id", job.job_id()}, {"metrics", std::move(list)}};
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

int metrics(const MetricsOptions& options) {
  const auto wanted = text::parse_job_id(options.job);
  if (!wanted) return complain("\"" + options.job + "\" is no job id");
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  auto job = fetch_job(**cluster, *wanted, options.job);
  if (!job) return complain(job.error().message);
  const std::string label = text::format_job_id(*job);
  if (job->start_time() == 0 || job->state() == model::JOB_PENDING)
    return complain("job " + label + " has not begun");
  const bool own = job->uid() == ::getuid();
  std::optional<helpers::MetricSearch> search;
  if (own || !options.files.empty()) search.emplace(helpers::search_for(**cluster, *job));
  if (!options.files.empty()) {
    if (const Status used = search->use_only(options.files); !used) return complain(used.error().message);
  }
  const size_t width = screen_width();
  uint64_t seen = 0;
  bool was_running = false;
  for (bool first = true;; first = false) {
    ml::MetricSet set;
    if (search) {
      search->update();
      set = search->all();
    }
    const bool ended = has_ended(*job);
    if (ended && own && !set.empty()) helpers::keep_metrics(**cluster, *job, set);
    auto record = set.empty() ? job->metrics() : set.record(ml::MetricSet::kMaxSeries);
    for (int i = record.size(); i-- > 0;) {
      if (!is_wanted(record[i].name(), options.names)) record.DeleteSubrange(i, 1);
    }
    uint64_t points = 0;
    for (const model::Metric& one : record) points += one.points();
    if (first || points != seen || (ended && was_running)) {
      std::string out;
      if (options.json) {
        out = json_of(*job, record, set);
      } else if (!record.empty()) {
        if (!first && ::isatty(STDOUT_FILENO)) view::write_bytes("\033[H\033[2J");
        out += "Job " + label + " (" + text::printable(job->spec().name()) + "), " +
               std::string(text::job_state_name(job->state())) + "\n";
        size_t drawn = 0;
        for (const model::Metric& one : record) {
          const ml::Series* series = set.find(one.name());
          if (options.table || series == nullptr || series->seen < 2) continue;
          if (++drawn > kMostCurves && options.names.empty()) continue;
          out += "\n" + text::printable(one.name()) + "\n" +
                 ml::draw_curve(*series, std::min<size_t>(width - 14, 100), kCurveHeight);
        }
        if (drawn > kMostCurves && options.names.empty())
          out += "\n" + std::to_string(drawn - kMostCurves) + " more: --name NAME\n";
        out += (drawn > 0 ? "\n" : "") + table_of(record);
      }
      view::write_out(out);
    }
    seen = points;
    was_running = !ended;
    if (!options.follow || ended) {
      for (const std::string& problem : search ? search->problems() : std::vector<std::string>())
        std::fprintf(stderr, "minke: %s\n", problem.c_str());
      const std::string dispute = search ? search->dispute() : std::string();
      if (!dispute.empty())
        std::fprintf(stderr, "minke: %s, or can be named: minke metrics %s FILE\n", dispute.c_str(),
                     label.c_str());
      if (!record.empty()) return 0;
      if (!options.json) {
        if (!own && !search)
          return complain("job " + label + " is another user's, and nothing of it was kept");
        std::fprintf(stderr, "minke: no metrics of job %s were found in %s\n", label.c_str(),
                     job->spec().work_dir().c_str());
      }
      return 1;
    }
    std::this_thread::sleep_for(kBetweenLooks);
    job = fetch_job(**cluster, *wanted, options.job);
    if (!job) return complain(job.error().message);
    // The search goes by when the job ran.
    if (has_ended(*job) && options.files.empty()) search.emplace(helpers::search_for(**cluster, *job));
  }
}

}  // namespace minke::cli
