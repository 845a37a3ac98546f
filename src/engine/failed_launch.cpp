#include "engine/failed_launch.h"

#include "api/actions.pb.h"
#include "engine/fetch.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/job_id.h"

namespace minke::engine {

bool waits_after_failed_launch(const model::JobRecord& job) {
  return job.state() == model::JOB_PENDING && job.reason_detail() == "launch failed requeued held";
}

Result<std::vector<uint32_t>> release_after_failed_launch(Engine& cluster,
                                                          const std::vector<model::JobRecord>& held) {
  constexpr uint32_t kMostReleases = 2;
  std::vector<uint32_t> stay;
  api::HoldRequest request;
  request.set_kind(api::HoldRequest::RELEASE);
  for (const model::JobRecord& job : held) {
    const auto self = text::parse_job_id(text::format_job_id(job));
    if (job.restarts() > kMostReleases || !self)
      stay.push_back(job.job_id());
    else
      *request.add_jobs() = selector_of(*self);  // of an array this task alone
  }
  if (request.jobs().empty()) return stay;
  const auto reply = cluster.hold(request);
  if (!reply) return failure(reply.error());
  return stay;
}

std::string held_text(uint32_t job_id) {
  const std::string id = std::to_string(job_id);
  return "job " + id + " waits held, because its launch has failed again and again: scontrol show job " + id +
         " names its nodes, scontrol release " + id + " lets it try again";
}

}  // namespace minke::engine
