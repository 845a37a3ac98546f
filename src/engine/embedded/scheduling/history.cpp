#include "engine/embedded/scheduling/history.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/forecast_slice.h"
#include "engine/embedded/scheduling/world.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/log.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

namespace {

constexpr uint32_t kJobsLoaded = 1000;
constexpr size_t kForecastsKept = 10000;
// These forecasts are made unasked after a pass, so they are small.
constexpr uint32_t kEntries = 300, kPasses = 300;
constexpr uint64_t kTests = 5000;
constexpr int kShare = 20;  // 1/kShare of the time may go to forecasts for the ranges

uint32_t cpus_of(const Job& job) {
  uint32_t cpus = 0;
  if (job.details) {
    for (const auto& node : job.details->nodes) cpus += node.cpus();
  }
  return std::max(1u, cpus);
}

sched::Run run_of(const Job& job) {
  return {.uid = job.uid,
          .start = job.start_time,
          .suspended = job.details ? job.details->suspended_seconds : 0,
          .limit = sched::limit_seconds(job.time_limit_minutes),
          .cpus = cpus_of(job)};
}

}  // namespace

// A waiting array is judged by its first task alone.
uint32_t History::job_of(const Job& job) {
  return job.array_job_id != 0 ? job.array_job_id : job.id;
}

void History::load() {
  const uint32_t next = core_.state.next_job_id();
  if (next <= 1) return;
  store::AccountingQuery query;
  for (uint32_t id = next > kJobsLoaded ? next - kJobsLoaded : 1; id < next; ++id)
    query.job_ids.push_back(id);
  // Jobs that end under this daemon meanwhile are newer: loaded jobs are
  // inserted before them, or dropped.
  const auto loaded =
      std::make_shared<std::vector<std::tuple<int64_t, uint32_t, int64_t, int64_t, uint32_t>>>();
  core_.store.query(std::move(query), [this, loaded](auto chunk) {
    core_.loop.post([this, loaded, chunk = std::move(chunk)] {
      if (!chunk) return os::log_warning("no run times of past jobs: " + chunk.error().message);
      for (const store::AccountedJob& one : *chunk) {
        const model::JobRecord& record = one.job.record;
        if (record.start_time() == 0 || record.end_time() == 0 || record.state() < model::JOB_COMPLETE)
          continue;
        uint32_t cpus = 0;
        for (const auto& node : record.nodes()) cpus += node.cpus();
        loaded->emplace_back(
            record.end_time(), record.uid(), sched::limit_seconds(record.time_limit_minutes()),
            record.end_time() - record.start_time() - record.suspended_seconds(), std::max(1u, cpus));
      }
      if (!chunk->empty()) return;
      std::sort(loaded->begin(), loaded->end());
      for (const auto& [end, uid, limit, seconds, cpus] : *loaded) {
        if (end <= core_.started) beliefs_.ended(uid, limit, seconds, cpus);
      }
    });
  });
}

void History::run_ended(Job& job) {
  const sched::Run run = run_of(job);
  beliefs_.ended(run.uid, run.limit, job.end_time - run.start - run.suspended, run.cpus);
}

void History::job_started(Job& job, Start) {
  const auto forecast = forecasts_.find(job_of(job));
  if (forecast == forecasts_.end()) return;
  const int64_t since = std::max(job.submit_time, job.eligible_time);
  const int64_t wait = forecast->second - since;
  if (wait > 0) {
    ranges_.started(wait, job.start_time - since);
    ++judged_;
  }
  forecasts_.erase(forecast);
}

void History::forgotten(const Job& job) {
  forecasts_.erase(job_of(job));
  if (newest_ == job_of(job)) newest_ = 0;
  if (learning_ && learning_->job == job_of(job)) learning_.reset();
}

void History::after_pass() {
  const Job* job = newest_ == 0 ? nullptr : core_.state.find(newest_);
  const auto begin = std::chrono::steady_clock::now();
  if (job == nullptr || !job->queued || learning_ || begin < rest_until_) return;
  if (forecasts_.size() >= kForecastsKept || forecasts_.contains(newest_)) return;
  newest_ = 0;
  sched::ForecastOptions options = beliefs();
  options.max_entries = kEntries;
  options.max_passes = kPasses;
  options.max_tests = kTests;
  auto forecast = core_.world->forecast(*job, core_.now(), options);
  if (!forecast) return;
  learning_.emplace(Learning{job_of(*job), std::move(*forecast)});
  learn_some(begin);
}

// Goes on by itself, a slice at a time.
void History::learn_some(std::chrono::steady_clock::time_point begin) {
  if (!learning_) return;
  const bool finished = go_on_for_a_slice(learning_->forecast);
  if (finished) {
    const auto expected = learning_->forecast.start();
    if (expected && !expected->after_unlimited) forecasts_.emplace(learning_->job, expected->start);
    learning_.reset();
  }
  const auto end = std::chrono::steady_clock::now();
  rest_until_ = std::max(rest_until_, end) + kShare * (end - begin);
  if (!finished) core_.loop.post([this] { learn_some(std::chrono::steady_clock::now()); });
}

bool History::knows_end(const Job& job) const {
  return job.grace_end() != 0 || beliefs_.knows_end(run_of(job), core_.now());
}

int64_t History::expected_end(const Job& job) const {
  if (const int64_t gone = job.grace_end(); gone != 0) return gone;
  return beliefs_.end_of(run_of(job), core_.now());
}

int64_t History::expected_seconds(const Job& job, const sched::Request& request) const {
  return beliefs_.seconds(job.uid, sched::limit_seconds(job.time_limit_minutes), sched::cpus_of(request), 0);
}

sched::ForecastOptions History::beliefs() const {
  sched::ForecastOptions options;
  options.partition_bits = sched::kPartitionBits;
  options.pass.gate = core_.accounts->gate();
  options.limits = [this] { return core_.accounts->foresee(); };
  options.run_unlimited = [this](sched::RunKey key) {
    const Job* job = core_.state.find(static_cast<uint32_t>(key));
    return job != nullptr && job->time_limit_minutes == kUnlimited;
  };
  options.entry_unlimited = [this](sched::EntryId entry) {
    const Job* job = core_.state.find(World::job_of_entry(entry));
    return job != nullptr && job->time_limit_minutes == kUnlimited;
  };
  if (core_.config.preemption.enabled()) {
    options.believed_end = [this](sched::RunKey key) {
      const Job* job = core_.state.find(static_cast<uint32_t>(key));
      const int64_t gone = job == nullptr ? 0 : job->grace_end();
      return gone != 0 ? gone : std::numeric_limits<int64_t>::max();
    };
  }
  if (beliefs_.runs() == 0) return options;
  // A list of a thousand jobs usually has few kinds.
  const auto asked = std::make_shared<sched::Beliefs::Asked>(beliefs_);
  options.believed_end = [this, asked](sched::RunKey key) -> int64_t {
    const Job* job = core_.state.find(static_cast<uint32_t>(key));
    if (job == nullptr) return core_.now();
    // It has been asked to give way.
    if (const int64_t gone = job->grace_end(); gone != 0) return gone;
    return asked->end_of(run_of(*job), core_.now());
  };
  options.believed_seconds = [this, asked](sched::EntryId entry) -> int64_t {
    const Job* job = core_.state.find(World::job_of_entry(entry));
    if (job == nullptr) return sched::kUnlimitedSeconds;
    const sched::Request* request = core_.world->request_of(*job);
    if (request == nullptr) return sched::limit_seconds(job->time_limit_minutes);
    return asked->seconds(job->uid, sched::limit_seconds(job->time_limit_minutes), sched::cpus_of(*request),
                          0);
  };
  return options;
}

}  // namespace minke::engine
