#include "portal/changes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/engine.h"
#include "model/job_record.pb.h"
#include "portal/queue.h"
#include "portal/workers.h"
#include "view/text.h"

namespace minke::portal {
namespace {

constexpr std::chrono::milliseconds kPause{2000};

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
    if (listeners_ == 0 && count > 0) came_ = std::chrono::steady_clock::now();
    listeners_ = count;
  }
  wake_.notify_all();
}

void Changes::follow() {
  OwnEngine own;
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (listeners_ == 0) {
      difference_ = {};
      wake_.wait(lock, [this] { return ends_ || listeners_ > 0; });
      continue;
    }
    const auto came = came_;
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
      tell(**queue, came);
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

void Changes::tell(const QueueNow& queue, std::chrono::steady_clock::time_point came) {
  // The jobs' times are the cluster's, whose clock need not be this machine's.
  const int64_t since = queue.now - std::chrono::ceil<std::chrono::seconds>(queue.fetched - came).count();
  const QueueDifference::Changed changed = difference_.look(queue.jobs, since);
  if (changed.count == 0) return;
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const model::JobRecord* job : changed.named)
    jobs.push_back({{"job_id", job->job_id()},
                    {"array_job_id", job->array_job_id()},
                    {"state", view::state_text(*job)}});
  tell_("jobs",
        nlohmann::ordered_json{{"now", queue.now}, {"changed", changed.count}, {"jobs", std::move(jobs)}}
            .dump());
}

}  // namespace minke::portal
