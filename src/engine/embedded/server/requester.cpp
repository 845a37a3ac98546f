#include "engine/embedded/server/requester.h"

#include <string>
#include <utility>

#include "api/actions.pb.h"
#include "model/error.h"
#include "rpc/envelope.h"

namespace minke::engine {

Requester::Requester(const std::shared_ptr<ConnectedClient>& client, uint32_t request_id,
                     std::shared_ptr<FlowControl::Ticket> ticket)
    : client_(client), request_id_(request_id), ticket_(std::move(ticket)) {}

void Requester::send(rpc::ServerMessage& message, bool last) const {
  if (const auto self = client()) self->send(message, request_id_, last);
}

void Requester::fail(const Error& error) const {
  if (const auto self = client()) self->send_error(request_id_, error);
}

void Requester::send_action(api::ActionReply reply) const {
  for (auto& failure : *reply.mutable_failures()) {
    if (failure.message().empty())
      failure.set_message(std::string(model::slurm_error_text(static_cast<int>(failure.code()))));
  }
  rpc::AnswerEnvelope answer;
  answer.body<api::ActionReply>() = std::move(reply);
  send(answer.message(), true);
}

}  // namespace minke::engine
