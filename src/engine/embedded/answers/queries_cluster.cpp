// Answers about the cluster itself: reservations, configuration, diagnostics.
#include <unistd.h>

#include <utility>

#include "api/diagnostics.pb.h"
#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "config/listing.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/reservations.h"
#include "rpc/envelope.h"

namespace minke::engine {

using namespace model;

void Queries::reservations(const Part& part) {
  rpc::AnswerEnvelope message;
  api::ReservationsReply& reply = message.body<api::ReservationsReply>();
  reply.set_now(core_.now());
  for (const ReservationRecord& record : core_.reservations->all())
    *reply.add_reservations() = core_.reservations->shown_at(record, core_.now());
  part(message.message(), true);
}

void Queries::diagnostics(const api::QueryDiagnosticsRequest& request, Viewer viewer, size_t connections,
                          const Part& part) {
  rpc::AnswerEnvelope message;
  api::DiagnosticsReply& reply = message.body<api::DiagnosticsReply>();
  core_.diagnostics.write(reply, [this](uint32_t uid) { return core_.state.user_name(uid); });
  // The number of a user's requests would reveal who has jobs.
  for (int i = reply.by_user_size(); i-- > 0;)
    if (!viewer.sees(reply.by_user(i).id())) reply.mutable_by_user()->DeleteSubrange(i, 1);
  reply.set_connections(static_cast<uint32_t>(connections));
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->state == JOB_RUNNING) reply.set_jobs_running(reply.jobs_running() + 1);
    if (job->state != JOB_PENDING) continue;
    reply.set_jobs_pending(reply.jobs_pending() + (job->array ? job->array->waiting.size() : 1));
  }
  if (request.reset()) core_.diagnostics.reset();
  part(message.message(), true);
}

void Queries::configuration(const Part& part) {
  rpc::AnswerEnvelope message;
  api::ConfigReply& reply = message.body<api::ConfigReply>();
  reply.set_now(core_.now());
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const uint32_t uid = ::geteuid();
  for (auto& [name, value] : config::list_configuration({.config = core_.config,
                             .started = core_.started,
                             .next_job_id = core_.state.next_job_id(),
                             .host = host,
                             .user = core_.state.user_name(uid),
                             .uid = uid})) {
    api::Field& field = *reply.add_values();
    field.set_name(name);
    field.set_value(std::move(value));
  }
  part(message.message(), true);
}

}  // namespace minke::engine
