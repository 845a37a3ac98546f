#include "helpers/keep_metrics.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "api/accounting.pb.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/minke_home.h"
#include "os/user_child.h"
#include "text/number.h"

namespace minke::helpers {

namespace {

constexpr size_t kMostKept = 200;              // metrics in a job's record
constexpr std::chrono::seconds kMostTime{60};  // for one job: file systems may hang
constexpr int kTries = 10;
constexpr std::chrono::milliseconds kBetweenTries{500};  // while the record is not written yet

// Runs in a process of the owner's.
void keep_as_owner(const model::JobRecord& job) {
  if (::nice(10) == -1) errno = 0;
  const auto cluster = engine::open(engine::Start::kNever);  // also as the owner
  if (!cluster) return;
  MetricSearch search = search_for(**cluster, job);
  search.update();
  const ml::MetricSet set = search.all();
  for (int i = 0; i < kTries && !set.empty() && !keep_metrics(**cluster, job, set); ++i)
    std::this_thread::sleep_for(kBetweenTries);
}

}  // namespace

bool keep_metrics(engine::Engine& cluster, const model::JobRecord& job, const ml::MetricSet& set) {
  if (set.empty()) return false;
  const auto measurements = cluster.measurements();
  if (!measurements) return false;
  api::KeepMetricsRequest request;
  request.set_job_id(job.job_id());
  *request.mutable_metrics() = set.record(kMostKept);
  return (*measurements)->keep_metrics(request).has_value();
}

MetricSearch search_for(const model::JobRecord& job, const std::string& home,
                        std::vector<model::JobRecord> rivals) {
  const std::string tmp =
      job.state() == model::JOB_RUNNING ? home + "/tmp/job" + std::to_string(job.job_id()) : "";
  MetricSearch search(job, job.spec().work_dir(), tmp);
  search.set_rivals(std::move(rivals));
  return search;
}

MetricSearch search_for(engine::Engine& cluster, const model::JobRecord& job) {
  constexpr int64_t kAround = 60;  // s
  api::QueryAccountingRequest query;
  query.mutable_filter()->add_uids(job.uid());
  query.mutable_filter()->set_all_states(true);
  query.set_from(job.start_time() - kAround);
  if (job.state() != model::JOB_RUNNING && job.state() != model::JOB_SUSPENDED)
    query.set_until(job.end_time() + kAround);
  std::vector<model::JobRecord> rivals;
  if (const auto found = engine::fetch_accounting(cluster, query)) {
    std::vector<const model::JobRecord*> records;
    for (const api::AccountedJob* one : found->records) records.push_back(&one->job());
    rivals = rivals_of(job, records);
  }
  return search_for(job, os::minke_home().value_or(""), std::move(rivals));
}

int metric_keeper(const std::string& home) {
  std::signal(SIGPIPE, SIG_IGN);
  ::setenv("MINKE_HOME", home.c_str(), 1);
  const auto cluster = engine::open(engine::Start::kNever);
  if (!cluster) return 1;
  for (std::string line; std::getline(std::cin, line);) {
    const auto id = text::parse_unsigned(line, UINT32_MAX);
    if (!id) continue;
    api::QueryAccountingRequest query;
    query.mutable_filter()->add_jobs()->set_job_id(static_cast<uint32_t>(*id));
    query.mutable_filter()->set_all_states(true);
    const auto found = engine::fetch_accounting(**cluster, query);
    if (!found) continue;
    for (const api::AccountedJob* one : found->records) {
      if (one->job().job_id() != *id || one->job().metrics_size() != 0) continue;
      const auto rights = os::rights_of(one->job().uid(), one->job().gid());
      (void)os::run_in_child(rights, {.time = kMostTime}, [&](int answer) {
        if (!os::keep_only(answer)) return 1;
        keep_as_owner(one->job());
        return 0;
      });
    }
  }
  return 0;
}

}  // namespace minke::helpers
