// What is done with one job: the same requests as scancel's and scontrol's, with their words for what fails.
#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/error.h"
#include "portal/desk.h"
#include "portal/job_answers.h"
#include "portal/job_json.h"
#include "text/job_id.h"

namespace minke::portal {
namespace {

// What an action came to: {"changed": 1}, or the first failure.
Result<Reply> outcome(Call& call, const Result<api::ActionReply>& done) {
  if (!done) return failure(done.error());
  call.desk.queue().outdate();
  if (done->failures_size() > 0 && done->changed() == 0) {
    const auto& first = done->failures(0);
    const std::string words = first.message().empty()
                                  ? std::string(model::slurm_error_text(static_cast<int>(first.code())))
                                  : first.message();
    return failure(words, static_cast<int>(first.code()));
  }
  return json_reply({{"changed", done->changed()}});
}

api::JobSelector selector(const Call& call) {
  const auto job = text::parse_job_id(call.text("job"));  // checked by the table of routes
  return job ? engine::selector_of(*job) : api::JobSelector();
}

Result<Reply> hold(Call& call, api::HoldRequest::Kind kind) {
  api::HoldRequest request;
  *request.add_jobs() = selector(call);
  request.set_kind(kind);
  return outcome(call, call.cluster.hold(request));
}

}  // namespace

Result<Reply> cancel_job(Call& call) {
  api::SignalRequest request;
  *request.mutable_filter()->add_jobs() = selector(call);
  return outcome(call, call.cluster.signal(request));
}

Result<Reply> hold_job(Call& call) {
  return hold(call, api::HoldRequest::USER_HOLD);
}
Result<Reply> release_job(Call& call) {
  return hold(call, api::HoldRequest::RELEASE);
}

Result<Reply> requeue_job(Call& call) {
  api::RequeueRequest request;
  *request.add_jobs() = selector(call);
  return outcome(call, call.cluster.requeue(request));
}

Result<Reply> limit_job(Call& call) {
  api::UpdateJobRequest request;
  *request.mutable_job() = selector(call);
  api::Field& field = *request.add_fields();
  field.set_name("TimeLimit");
  field.set_value(call.text("time_limit"));
  return outcome(call, call.cluster.update(request));
}

}  // namespace minke::portal
