#include "portal/queue.h"

#include <algorithm>

#include "api/jobs.pb.h"
#include "engine/fetch.h"
#include "model/job_record.pb.h"

namespace minke::portal {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kShare = 20;
constexpr std::chrono::seconds kUnused{30};

}  // namespace

QueueNow::~QueueNow() = default;

Result<std::shared_ptr<const QueueNow>> Queue::get(engine::Engine& cluster, std::chrono::milliseconds age) {
  const std::lock_guard lock(mutex_);
  asked_ = Clock::now();
  if (last_ != nullptr && asked_ - last_->fetched < std::max(age, kShare * last_->cost)) return last_;
  api::JobFilter filter;
  filter.set_all_states(true);
  auto fetched = engine::fetch_jobs(cluster, std::move(filter), false, true);
  if (!fetched) return failure(fetched.error());
  auto next = std::make_shared<QueueNow>();
  next->replies = std::move(fetched->replies);
  next->jobs = std::move(fetched->records);
  next->now = fetched->now;
  if (const auto identity = cluster.identity()) next->is_of_slurm = identity->product == "Slurm";
  next->fetched = Clock::now();
  next->cost = std::chrono::duration_cast<std::chrono::milliseconds>(next->fetched - asked_);
  std::sort(next->jobs.begin(), next->jobs.end(), [](auto* a, auto* b) { return a->job_id() < b->job_id(); });
  last_ = std::move(next);
  return last_;
}

void Queue::outdate() {
  const std::lock_guard lock(mutex_);
  last_.reset();
}

bool Queue::forget_unused() {
  const std::lock_guard lock(mutex_);
  if (last_ != nullptr && Clock::now() - asked_ > kUnused) last_.reset();
  return last_ != nullptr;
}

}  // namespace minke::portal
