#include "portal/ended_jobs.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <set>

#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/user_id.h"
#include "portal/desk.h"
#include "portal/routes.h"

namespace minke::portal {
namespace {

constexpr uint32_t kAtOnce = 5000;

api::AccountingPlace place_of(const model::JobRecord& job) {
  api::AccountingPlace place;
  place.set_end_time(job.end_time());
  place.set_job_id(job.job_id());
  place.set_restarts(job.restarts());
  return place;
}

// A real Slurm is asked by commands, each of which costs more than the records that it need not have told.
bool keeps_the_record(Call& call) {
  const auto identity = call.cluster.identity();
  return identity && identity->product == "Minke";
}

}  // namespace

Result<ReadBack> read_back(engine::Engine& cluster, api::QueryAccountingRequest query, const HowFar& far,
                           const std::function<bool(const api::AccountedJob&)>& take) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  ReadBack result;
  size_t counted = 0;
  // What is asked for grows: where few of the jobs count, each request costs.
  for (size_t batch = far.most;; batch = std::min<size_t>(std::max<size_t>(2 * batch, 500), kAtOnce)) {
    query.set_newest(static_cast<uint32_t>(std::clamp<size_t>(batch, 1, kAtOnce)));
    result.is_all = true;
    const Status told = cluster.accounting(query, [&](const api::AccountingReply& part) -> Status {
      for (const api::AccountedJob& one : part.jobs()) {
        if (counted == far.most) {
          result.is_all = false;
          return {};
        }
        result.next = place_of(one.job());
        counted += take(one) ? 1 : 0;
      }
      if (!part.has_next()) return {};
      result.is_all = false;
      if (counted < far.most) result.next = part.next();
      return {};
    });
    if (!told) return failure(told.error());
    if (result.is_all || counted == far.most) return result;
    if (far.patience.count() > 0 && Clock::now() - begin > far.patience) return result;
    *query.mutable_behind() = result.next;
  }
}

Status for_each_running(Call& call, const api::QueryAccountingRequest& query,
                        const std::function<void(const api::AccountedJob&)>& take) {
  const auto queue = call.desk.queue().get(call.cluster, std::chrono::seconds(1));
  if (!queue) return failure(queue.error());
  api::QueryAccountingRequest running = query;
  running.clear_from();
  for (const model::JobRecord* job : (*queue)->jobs)
    if (job->state() == model::JOB_RUNNING || job->state() == model::JOB_SUSPENDED)
      running.mutable_filter()->add_jobs()->set_job_id(job->job_id());
  if (running.filter().jobs().empty()) return {};
  if (!keeps_the_record(call)) {  // the numbers may be more than a command's line holds
    running.mutable_filter()->clear_jobs();
    running.set_from(std::time(nullptr));
  }
  const auto told = engine::for_each_accounted(call.cluster, running, [&](const api::AccountedJob& one) {
    if (one.job().state() == model::JOB_RUNNING || one.job().state() == model::JOB_SUSPENDED) take(one);
  });
  return told ? Status() : failure(told.error());
}

Status for_each_since(Call& call, const api::QueryAccountingRequest& query,
                      const std::function<void(const api::AccountedJob&)>& take) {
  if (!keeps_the_record(call)) {
    const auto told = engine::for_each_accounted(call.cluster, query, [&](const api::AccountedJob& one) {
      const model::JobRecord& job = one.job();
      const bool has_ended = job.state() > model::JOB_SUSPENDED;
      if (has_ended ? job.end_time() >= query.from() : job.state() != model::JOB_PENDING) take(one);
    });
    return told ? Status() : failure(told.error());
  }
  std::set<uint32_t> ran;  // one that ends meanwhile is not taken twice
  const Status told = for_each_running(call, query, [&](const api::AccountedJob& one) {
    ran.insert(one.job().job_id());
    take(one);
  });
  if (!told) return told;
  const HowFar all{std::numeric_limits<size_t>::max(), std::chrono::milliseconds(0)};
  const auto read = read_back(call.cluster, query, all, [&](const api::AccountedJob& one) {
    if (!ran.contains(one.job().job_id())) take(one);
    return true;
  });
  return read ? Status() : failure(read.error());
}

void ask_for_user(const std::string& user, api::QueryAccountingRequest& query) {
  if (const auto uid = os::user_id_of(user)) {
    query.mutable_filter()->add_uids(*uid);
  } else {
    query.mutable_filter()->add_users(user);
  }
}

}  // namespace minke::portal
