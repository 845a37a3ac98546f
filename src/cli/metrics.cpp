// minke metrics: the curves of one job, while it runs or afterwards.
#include <fnmatch.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "api/accounting.pb.h"
#include "cli/complain.h"
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
#include "view/output.h"
#include "view/training_metrics.h"

namespace minke::cli {

namespace {

constexpr auto kBetweenLooks = std::chrono::seconds(2);

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
  if (chosen == nullptr) return failure(no_such_job(name));
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

// The metrics of one job, read again and again while it runs.
class MetricsWatch {
 public:
  MetricsWatch(const MetricsOptions& options, engine::Engine& cluster, const text::JobReference& wanted)
      : options_(options), cluster_(cluster), wanted_(wanted) {}

  // Finds the job, and the place of its metrics. An error is a message for the user.
  Status begin() {
    if (const Status found = fetch(); !found) return found;
    label_ = text::format_job_id(job_);
    if (job_.start_time() == 0 || job_.state() == model::JOB_PENDING)
      return failure("job " + label_ + " has not begun");
    own_ = job_.uid() == ::getuid();
    if (own_ || !options_.files.empty()) search_.emplace(helpers::search_for(cluster_, job_));
    return options_.files.empty() ? Status() : search_->use_only(options_.files);
  }

  // Reads new data, and shows it if there is any.
  void look() {
    read();
    uint64_t points = 0;
    for (const model::Metric& one : metrics_) points += one.points();
    const bool first = !seen_;
    if (first || points != *seen_ || (ended() && was_running_)) show(first);
    seen_ = points;
    was_running_ = !ended();
  }

  bool ended() const { return has_ended(job_); }

  Status fetch_again() {
    if (const Status found = fetch(); !found) return found;
    // The search needs to know when the job ran.
    if (ended() && options_.files.empty()) search_.emplace(helpers::search_for(cluster_, job_));
    return {};
  }

  // Prints what was wrong with the files. Returns the exit code.
  int conclude() const {
    for (const std::string& problem : search_ ? search_->problems() : std::vector<std::string>())
      std::fprintf(stderr, "minke: %s\n", problem.c_str());
    const std::string dispute = search_ ? search_->dispute() : std::string();
    if (!dispute.empty())
      std::fprintf(stderr, "minke: %s, or can be named: minke metrics %s FILE\n", dispute.c_str(),
                   label_.c_str());
    if (!metrics_.empty()) return 0;
    if (options_.json) return 1;
    if (!own_ && !search_)
      return complain("job " + label_ + " is another user's, and nothing of it was kept");
    std::fprintf(stderr, "minke: no metrics of job %s were found in %s\n", label_.c_str(),
                 job_.spec().work_dir().c_str());
    return 1;
  }

 private:
  Status fetch() {
    auto job = fetch_job(cluster_, wanted_, options_.job);
    if (!job) return failure(job.error());
    job_ = std::move(*job);
    return {};
  }

  void read() {
    set_ = {};
    if (search_) {
      search_->update();
      set_ = search_->all();
    }
    if (ended() && own_ && !set_.empty()) helpers::keep_metrics(cluster_, job_, set_);
    metrics_ = set_.empty() ? job_.metrics() : set_.record(ml::MetricSet::kMaxSeries);
    for (int i = metrics_.size(); i-- > 0;) {
      if (!is_wanted(metrics_[i].name(), options_.names)) metrics_.DeleteSubrange(i, 1);
    }
  }

  void show(bool first) const {
    if (options_.json) return view::write_out(view::metrics_json(job_, metrics_, set_));
    if (metrics_.empty()) return;
    if (!first && ::isatty(STDOUT_FILENO)) view::write_bytes("\033[H\033[2J");
    view::write_out(view::metrics_report(
        job_, metrics_, set_,
        {.screen_width = screen_width_, .curves = !options_.table, .all = !options_.names.empty()}));
  }

  const MetricsOptions& options_;
  engine::Engine& cluster_;
  const text::JobReference wanted_;
  const size_t screen_width_ = screen_width();
  model::JobRecord job_;
  std::string label_;
  bool own_ = false;
  std::optional<helpers::MetricSearch> search_;  // none: another user's, by its record alone
  ml::MetricSet set_;                            // of the files
  view::Metrics metrics_;                        // the ones asked for
  std::optional<uint64_t> seen_;                 // points at the last look
  bool was_running_ = false;
};

}  // namespace

int metrics(const MetricsOptions& options) {
  const auto wanted = text::parse_job_id(options.job);
  if (!wanted)
    return complain("\"" + options.job + "\" is no job id: write 12, or 12_3 for a task of an array");
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  MetricsWatch watch(options, **cluster, *wanted);
  if (const Status ready = watch.begin(); !ready) return complain(ready.error().message);
  watch.look();
  while (options.follow && !watch.ended()) {
    std::this_thread::sleep_for(kBetweenLooks);
    if (const Status there = watch.fetch_again(); !there) return complain(there.error().message);
    watch.look();
  }
  return watch.conclude();
}

}  // namespace minke::cli
