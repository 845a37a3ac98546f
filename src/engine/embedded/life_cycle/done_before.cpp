#include "engine/embedded/life_cycle/done_before.h"

#include "model/job_record.pb.h"
#include "model/job_state.pb.h"

namespace minke::engine {

using namespace model;

bool has_ended(const JobRecord& job) {
  return job.state() >= JOB_COMPLETE;
}

bool was_cancelled(const JobRecord& job, int64_t since) {
  return job.state() == JOB_CANCELLED && (job.completing() || job.end_time() >= since);
}

bool was_held(const JobRecord& job) {
  return has_ended(job) && job.priority() == 0;
}

bool was_released(const JobRecord& job) {
  return has_ended(job) && job.priority() != 0;
}

bool was_requeued(const JobRecord& job, int64_t since) {
  const bool is_being_requeued = job.state() == JOB_REQUEUED && job.completing();
  return is_being_requeued || (job.restarts() != 0 && job.submit_time() >= since);
}

bool was_suspended(const JobRecord& job, int64_t since) {
  return has_ended(job) && job.suspend_time() >= since;
}

bool was_resumed(const JobRecord& job, int64_t since) {
  return job.state() != JOB_PENDING && job.state() != JOB_SUSPENDED && job.suspend_time() >= since;
}

}  // namespace minke::engine
