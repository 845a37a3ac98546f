#include "engine/embedded/server/connected_client.h"

#include <string_view>

#include "engine/embedded/server/answers.h"
#include "model/error.h"
#include "rpc/messages.pb.h"

namespace minke::engine {

namespace {

// For one message of an answer: large enough to be efficient, and many fit in a frame.
constexpr size_t kMostPartBytes = size_t{4} << 20;

}  // namespace

void ConnectedClient::send(rpc::ServerMessage& message, uint32_t request_id, bool last) {
  if (!connection || leaving) return;
  message.set_request_id(request_id);
  if (message.has_error() && message.error().code() != 0) {
    // Slurm's text for the number, and our text for what exactly is wrong.
    const std::string_view text = model::slurm_error_text(static_cast<int>(message.error().code()));
    if (!text.empty() && message.error().message() != text) {
      message.mutable_error()->set_detail(message.error().message());
      message.mutable_error()->set_message(std::string(text));
    }
  }
  remove_secrets(message);
  cut_texts(message);
  send_in_parts(message, kMostPartBytes, [this, last](rpc::ServerMessage& part, bool more) {
    part.set_last(last && !more);
    connection->send(part);
  });
  leaving = may_hold_unread && !may_hold_unread(*this);
}

void ConnectedClient::send_error(uint32_t request_id, const Error& error) {
  rpc::ServerMessage message;
  message.mutable_error()->set_code(static_cast<uint32_t>(error.code));
  message.mutable_error()->set_message(error.message);
  send(message, request_id, true);
}

}  // namespace minke::engine
