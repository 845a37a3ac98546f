#include "engine/embedded/scheduling/history.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/world.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/log.h"

namespace minke::engine {

namespace {

constexpr uint32_t kJobsLoaded = 1000;
constexpr size_t kForecastsKept = 10000;
// These are made unasked, right after a pass: small ones.
constexpr uint32_t kEntries = 300, kPasses = 300;
constexpr uint64_t kTests = 5000;
constexpr int kShare = 20;  // of the time that forecasts for the ranges may take, one part

uint32_t cpus_of(const Job& job) {
  uint32_t cpus = 0;
  if (job.details) {
    for (const auto& node : job.details->nodes) cpus += node.cpus();
  }
  return std::max(1u, cpus);
}

uint32_t cpus_of(const sched::Request& request) {
  const uint32_t tasks =
      request.tasks != 0 ? request.tasks : request.min_nodes * std::max(1u, request.tasks_per_node);
  return std::max({1u, tasks * request.cpus_per_task, request.min_nodes * request.min_cpus_per_node});
}

}  // namespace

// A waiting array is judged by its first task alone.
uint32_t History::job_of(const Job& job) {
  return job.array_job_id != 0 ? job.array_job_id : job.id;
}

void History::add(uint32_t uid, int64_t limit, int64_t seconds, uint32_t cpus) {
  run_times_.ended(uid, {.limit = std::max<int64_t>(1, limit),
                         .seconds = std::clamp<int64_t>(seconds, 1, std::max<int64_t>(1, limit)),
                         .processors = cpus});
  ++runs_of_user_[uid];
  ++runs_;
}

void History::load() {
  const uint32_t next = core_.state.next_job_id();
  if (next <= 1) return;
  store::AccountingQuery query;
  for (uint32_t id = next > kJobsLoaded ? next - kJobsLoaded : 1; id < next; ++id)
    query.job_ids.push_back(id);
  // Those that end meanwhile under this daemon came later: what is loaded is put in before them, or not at
  // all.
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
        if (end <= core_.started) add(uid, limit, seconds, cpus);
      }
    });
  });
}

void History::run_ended(Job& job) {
  const int64_t suspended = job.details ? job.details->suspended_seconds : 0;
  add(job.uid, sched::limit_seconds(job.time_limit_minutes), job.end_time - job.start_time - suspended,
      cpus_of(job));
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
}

void History::after_pass() {
  const Job* job = newest_ == 0 ? nullptr : core_.state.find(newest_);
  const auto begin = std::chrono::steady_clock::now();
  if (job == nullptr || !job->queued || begin < rest_until_) return;
  if (forecasts_.size() >= kForecastsKept || forecasts_.contains(newest_)) return;
  newest_ = 0;
  sched::ForecastOptions options = beliefs();
  options.max_entries = kEntries;
  options.max_passes = kPasses;
  options.max_tests = kTests;
  if (const auto expected = core_.world->forecast(*job, core_.now(), options);
      expected && !expected->after_unlimited) {
    forecasts_.emplace(job_of(*job), expected->start);
  }
  const auto end = std::chrono::steady_clock::now();
  rest_until_ = end + kShare * (end - begin);
}

// Rounded, so that like jobs are asked about once. What is shown and what forecasts go by must be the same:
// or a job would be said to start before the end of the one that it waits for.
int64_t History::rounded(int64_t elapsed) {
  return elapsed - elapsed % std::max<int64_t>(1, elapsed / 16);
}

int64_t History::seconds(uint32_t uid, int64_t limit, uint32_t cpus, int64_t elapsed) const {
  return std::max(run_times_.expected(uid, limit, cpus, rounded(elapsed)), elapsed + 1);
}

bool History::knows_end(const Job& job) const {
  if (job.time_limit_minutes != kUnlimited || job.grace_end() != 0) return true;
  const int64_t suspended = job.details ? job.details->suspended_seconds : 0;
  return expected_end(job) - job.start_time - suspended < sched::kUnlimitedSeconds;
}

int64_t History::expected_end(const Job& job) const {
  if (const int64_t gone = job.grace_end(); gone != 0) return gone;
  const int64_t suspended = job.details ? job.details->suspended_seconds : 0;
  const int64_t elapsed = std::max<int64_t>(0, core_.now() - job.start_time - suspended);
  return job.start_time + suspended +
         seconds(job.uid, sched::limit_seconds(job.time_limit_minutes), cpus_of(job), elapsed);
}

int64_t History::expected_seconds(const Job& job, const sched::Request& request) const {
  return seconds(job.uid, sched::limit_seconds(job.time_limit_minutes), cpus_of(request), 0);
}

uint32_t History::runs_of(uint32_t uid) const {
  const auto found = runs_of_user_.find(uid);
  return found == runs_of_user_.end() ? 0 : found->second;
}

sched::ForecastOptions History::beliefs() const {
  sched::ForecastOptions options;
  options.partition_bits = World::kPartitionBits;
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
  if (runs_ == 0) return options;
  // Like jobs are asked about once: a list of a thousand jobs is mostly of a few kinds.
  using Key = std::tuple<uint32_t, int64_t, uint32_t, int64_t>;
  const auto known = std::make_shared<std::map<Key, int64_t>>();
  const auto ask = [this, known](uint32_t uid, int64_t limit, uint32_t cpus, int64_t elapsed) {
    const int64_t since = rounded(elapsed);
    const auto [entry, is_new] = known->try_emplace({uid, limit, cpus, since}, 0);
    if (is_new) entry->second = seconds(uid, limit, cpus, since);
    return std::max(entry->second, elapsed + 1);
  };
  options.believed_end = [this, ask](sched::RunKey key) -> int64_t {
    const Job* job = core_.state.find(static_cast<uint32_t>(key));
    if (job == nullptr) return core_.now();
    // It has been asked to give way.
    if (const int64_t gone = job->grace_end(); gone != 0) return gone;
    const int64_t suspended = job->details ? job->details->suspended_seconds : 0;
    const int64_t elapsed = std::max<int64_t>(0, core_.now() - job->start_time - suspended);
    return job->start_time + suspended +
           ask(job->uid, sched::limit_seconds(job->time_limit_minutes), cpus_of(*job), elapsed);
  };
  options.believed_seconds = [this, ask](sched::EntryId entry) -> int64_t {
    const Job* job = core_.state.find(World::job_of_entry(entry));
    if (job == nullptr) return sched::kUnlimitedSeconds;
    const sched::Request* request = core_.world->request_of(*job);
    if (request == nullptr) return sched::limit_seconds(job->time_limit_minutes);
    return ask(job->uid, sched::limit_seconds(job->time_limit_minutes), cpus_of(*request), 0);
  };
  return options;
}

}  // namespace minke::engine
