#include "portal/changes.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/engine.h"
#include "model/job_record.pb.h"
#include "portal/queue.h"
#include "portal/workers.h"
#include "view/text.h"

namespace minke::portal {
namespace {

constexpr size_t kMostNamed = 200;
constexpr std::chrono::milliseconds kPause{2000};

uint64_t hash_of(const model::JobRecord& job) {
  uint64_t hash = 0;
  const auto add = [&hash](uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29); };
  add(static_cast<uint64_t>(job.state()) << 32 | static_cast<uint64_t>(job.reason()) << 1 |
      static_cast<uint64_t>(job.completing()));
  add(job.priority());
  add(static_cast<uint64_t>(job.end_time()));
  add(job.state() == model::JOB_PENDING ? 0 : static_cast<uint64_t>(job.start_time()));
  add(job.time_limit_minutes());
  for (const model::IndexRange& range : job.array_pending().ranges())
    add(static_cast<uint64_t>(range.first()) << 32 | range.last());
  return hash;
}

// When it was submitted, began or ended, whichever came last: s since the epoch.
int64_t latest_time(const model::JobRecord& job) {
  return std::max({job.submit_time(), job.state() == model::JOB_PENDING ? 0 : job.start_time(),
                   job.state() >= model::JOB_COMPLETE ? job.end_time() : 0});
}

}  // namespace

Changes::Changes(Queue& queue, Tell tell)
    : queue_(queue), tell_(std::move(tell)), thread_([this] { follow(); }) {}

Changes::~Changes() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Changes::set_listeners(size_t count) {
  {
    const std::lock_guard lock(mutex_);
    if (listeners_ == 0 && count > 0) since_ = std::time(nullptr);
    listeners_ = count;
  }
  wake_.notify_all();
}

void Changes::follow() {
  OwnEngine own;
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (listeners_ == 0) {
      last_ = {};
      has_last_ = false;
      wake_.wait(lock, [this] { return ends_ || listeners_ > 0; });
      continue;
    }
    lock.unlock();
    std::chrono::milliseconds pause = kPause;
    const auto cluster = own.get();
    auto queue = cluster ? queue_.get(**cluster, kPause / 2)
                         : Result<std::shared_ptr<const QueueNow>>(failure(cluster.error()));
    if (cluster) {
      if (const auto identity = (*cluster)->identity())
        pause =
            std::max<std::chrono::milliseconds>(pause, std::chrono::seconds(identity->least_poll_seconds));
    }
    if (queue) {
      if (std::exchange(was_lost_, false)) tell_("found", "{}");
      pause = std::max(pause, 20 * (*queue)->cost);
      tell_difference(**queue);
    } else {
      was_lost_ = true;
      tell_("lost", nlohmann::json{{"message", queue.error().message}}.dump(
                        -1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    queue = nullptr;
    lock.lock();
    wake_.wait_for(lock, pause, [this] { return ends_ || listeners_ == 0; });
  }
}

void Changes::tell_difference(const QueueNow& queue) {
  std::unordered_map<uint32_t, uint64_t> now;
  now.reserve(queue.jobs.size());
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  size_t changed = 0;
  const bool is_first = !std::exchange(has_last_, true);
  for (const model::JobRecord* job : queue.jobs) {
    const uint64_t hash = hash_of(*job);
    now[job->job_id()] = hash;
    const auto before = last_.find(job->job_id());
    if (is_first ? latest_time(*job) < since_ : before != last_.end() && before->second == hash) continue;
    if (++changed <= kMostNamed)
      jobs.push_back({{"job_id", job->job_id()},
                      {"array_job_id", job->array_job_id()},
                      {"state", view::state_text(*job)}});
  }
  for (const auto& [id, hash] : last_) changed += now.contains(id) ? 0 : 1;
  last_ = std::move(now);
  if (changed == 0) return;
  tell_("jobs",
        nlohmann::ordered_json{{"now", queue.now}, {"changed", changed}, {"jobs", std::move(jobs)}}.dump());
}

}  // namespace minke::portal
