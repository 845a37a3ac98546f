#include "rpc/envelope.h"

#include <utility>

#include "rpc/messages.pb.h"

namespace minke::rpc {

template <typename Message>
Envelope<Message>::Envelope() : message_(std::make_unique<Message>()) {}
template <typename Message>
Envelope<Message>::Envelope(Message message) : message_(std::make_unique<Message>(std::move(message))) {}
template <typename Message>
Envelope<Message>::Envelope(const Envelope& other) : Envelope(*other.message_) {}
template <typename Message>
Envelope<Message>::Envelope(Envelope&& other) noexcept = default;
template <typename Message>
Envelope<Message>& Envelope<Message>::operator=(Envelope other) noexcept {
  message_ = std::move(other.message_);
  return *this;
}
template <typename Message>
Envelope<Message>::~Envelope() = default;

template class Envelope<ClientMessage>;
template class Envelope<ServerMessage>;

// The bodies and their fields in rpc/messages.proto.
#define MINKE_BODY(Message, Body, field)              \
  template <>                                         \
  template <>                                         \
  bool Envelope<Message>::has<Body>() const {         \
    return message_->has_##field();                   \
  }                                                   \
  template <>                                         \
  template <>                                         \
  const Body& Envelope<Message>::read<Body>() const { \
    return message_->field();                         \
  }                                                   \
  template <>                                         \
  template <>                                         \
  Body& Envelope<Message>::body<Body>() {             \
    return *message_->mutable_##field();              \
  }

MINKE_BODY(ClientMessage, api::SubmitRequest, submit)
MINKE_BODY(ClientMessage, api::WaitJobRequest, wait_job)
MINKE_BODY(ClientMessage, api::CreateStepRequest, create_step)
MINKE_BODY(ClientMessage, api::SignalRequest, signal)
MINKE_BODY(ClientMessage, api::HoldRequest, hold)
MINKE_BODY(ClientMessage, api::RequeueRequest, requeue)
MINKE_BODY(ClientMessage, api::UpdateJobRequest, update_job)
MINKE_BODY(ClientMessage, api::UpdateNodeRequest, update_node)
MINKE_BODY(ClientMessage, api::UpdatePartitionRequest, update_partition)
MINKE_BODY(ClientMessage, api::QueryJobsRequest, query_jobs)
MINKE_BODY(ClientMessage, api::QueryStepsRequest, query_steps)
MINKE_BODY(ClientMessage, api::QueryScriptRequest, query_script)
MINKE_BODY(ClientMessage, api::QueryAccountingRequest, query_accounting)
MINKE_BODY(ClientMessage, api::QueryNodesRequest, query_nodes)
MINKE_BODY(ClientMessage, api::QueryPartitionsRequest, query_partitions)
MINKE_BODY(ClientMessage, api::QueryConfigRequest, query_config)
MINKE_BODY(ClientMessage, api::StatusRequest, status)
MINKE_BODY(ClientMessage, api::ShutdownRequest, shutdown)
MINKE_BODY(ClientMessage, api::ReconfigureRequest, reconfigure)
MINKE_BODY(ClientMessage, api::CompleteAllocationRequest, complete_allocation)
MINKE_BODY(ClientMessage, api::SuspendRequest, suspend)
MINKE_BODY(ClientMessage, api::TopRequest, top)
MINKE_BODY(ClientMessage, api::NotifyRequest, notify)
MINKE_BODY(ClientMessage, api::QueryPidsRequest, query_pids)
MINKE_BODY(ClientMessage, api::QueryLicensesRequest, query_licenses)
MINKE_BODY(ClientMessage, api::AttachStepRequest, attach_step)
MINKE_BODY(ClientMessage, api::QueryStepUsageRequest, query_step_usage)
MINKE_BODY(ClientMessage, api::QueryAccountsRequest, query_accounts)
MINKE_BODY(ClientMessage, api::UpdateAccountsRequest, update_accounts)
MINKE_BODY(ClientMessage, api::QueryPrioritiesRequest, query_priorities)
MINKE_BODY(ClientMessage, api::UpdateRecordsRequest, update_records)
MINKE_BODY(ClientMessage, api::QueryDiagnosticsRequest, query_diagnostics)
MINKE_BODY(ClientMessage, api::ExplainJobRequest, explain_job)
MINKE_BODY(ClientMessage, api::UpdateReservationRequest, update_reservation)
MINKE_BODY(ClientMessage, api::QueryReservationsRequest, query_reservations)
MINKE_BODY(ClientMessage, api::KeepMetricsRequest, keep_metrics)
MINKE_BODY(ClientMessage, api::QueryMeasurementsRequest, query_measurements)
MINKE_BODY(ClientMessage, api::SetTriggersRequest, set_triggers)
MINKE_BODY(ClientMessage, api::ClearTriggersRequest, clear_triggers)
MINKE_BODY(ClientMessage, api::QueryTriggersRequest, query_triggers)
MINKE_BODY(ClientMessage, api::RequestSoftwareRequest, request_software)
MINKE_BODY(ClientMessage, api::AnswerSoftwareRequest, answer_software)
MINKE_BODY(ClientMessage, api::QuerySoftwareRequest, query_software)
MINKE_BODY(ClientMessage, api::QueryCrontabRequest, query_crontab)
MINKE_BODY(ClientMessage, api::UpdateCrontabRequest, update_crontab)
MINKE_BODY(ClientMessage, api::RemoveCrontabRequest, remove_crontab)
MINKE_BODY(ClientMessage, api::QueryHistoryRequest, query_history)

MINKE_BODY(ServerMessage, api::SubmitReply, submit)
MINKE_BODY(ServerMessage, api::WaitJobReply, wait_job)
MINKE_BODY(ServerMessage, api::StepEvent, step)
MINKE_BODY(ServerMessage, api::ActionReply, action)
MINKE_BODY(ServerMessage, api::JobsReply, jobs)
MINKE_BODY(ServerMessage, api::StepsReply, steps)
MINKE_BODY(ServerMessage, api::ScriptReply, script)
MINKE_BODY(ServerMessage, api::AccountingReply, accounting)
MINKE_BODY(ServerMessage, api::NodesReply, nodes)
MINKE_BODY(ServerMessage, api::PartitionsReply, partitions)
MINKE_BODY(ServerMessage, api::ConfigReply, config)
MINKE_BODY(ServerMessage, api::StatusReply, status)
MINKE_BODY(ServerMessage, api::PidsReply, pids)
MINKE_BODY(ServerMessage, api::LicensesReply, licenses)
MINKE_BODY(ServerMessage, api::StepUsageReply, step_usage)
MINKE_BODY(ServerMessage, api::DiagnosticsReply, diagnostics)
MINKE_BODY(ServerMessage, api::ExplainJobReply, explanation)
MINKE_BODY(ServerMessage, api::ReservationsReply, reservations)
MINKE_BODY(ServerMessage, api::AccountsReply, accounts)
MINKE_BODY(ServerMessage, api::PrioritiesReply, priorities)
MINKE_BODY(ServerMessage, api::MeasurementsReply, measurements)
MINKE_BODY(ServerMessage, api::TriggersReply, triggers)
MINKE_BODY(ServerMessage, api::SoftwareReply, software)
MINKE_BODY(ServerMessage, api::CrontabReply, crontab)
MINKE_BODY(ServerMessage, api::HistoryReply, history)

#undef MINKE_BODY

void set_error(ServerMessage& answer, const minke::Error& error) {
  answer.mutable_error()->set_code(static_cast<uint32_t>(error.code));
  answer.mutable_error()->set_message(error.message);
}

minke::Error error_of(const ServerMessage& answer) {
  minke::Error result{static_cast<int>(answer.error().code()), answer.error().message()};
  if (!answer.error().detail().empty()) result.message += " (" + answer.error().detail() + ")";
  return result;
}

bool is_last(const ServerMessage& answer) {
  return answer.last();
}

void merge_answer(ServerMessage& answer, ServerMessage&& more) {
  const bool goes_on =
      more.body_case() == ServerMessage::kWaitJob || more.body_case() == ServerMessage::kStep;
  if (answer.body_case() == more.body_case() && !goes_on) {
    answer.MergeFrom(more);
  } else {
    answer = std::move(more);
  }
}

}  // namespace minke::rpc
