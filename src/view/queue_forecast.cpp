#include "view/queue_forecast.h"

#include <algorithm>

#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "view/text.h"

namespace minke::view {

void QueueForecast::add(const model::JobRecord& job, uint64_t gpus) {
  constexpr int64_t kForEver = int64_t{1} << 40;
  if (is_finished(job.state())) return;
  const bool waits = job.state() == model::JOB_PENDING;
  if (waits && job.start_time() == 0) {
    ++unknown_;
    return;
  }
  const int64_t begin = waits ? std::max(now_, job.start_time()) : now_;
  const bool is_limited = job.time_limit_minutes() != kUnlimited && job.time_limit_minutes() != 0;
  const int64_t limit = is_limited ? int64_t{60} * job.time_limit_minutes() : kForEver;
  // What runs over its limit is about to end.
  const int64_t end =
      waits ? begin + limit
            : std::max(now_ + 1, is_limited ? now_ + limit - elapsed_seconds(job, now_) : kForEver);
  ++(waits ? forecast_ : running_);
  if (waits) last_start_ = std::max(last_start_, begin);
  held_.add(begin, end, job.num_cpus(), static_cast<int64_t>(gpus));
}

}  // namespace minke::view
