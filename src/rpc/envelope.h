// Envelope: a request or an answer whose body is named by its type.
//
//   rpc::AnswerEnvelope answer;
//   answer.body<api::NodesReply>().set_now(now);
//   send(answer.message());
//
// rpc/messages.proto names the bodies of all requests and answers. A unit that includes its header is
// compiled again when any of them changes. A unit that makes or reads a few kinds includes this header and
// those of their bodies. A type that is no body of the message fails to link. Has a value; no thread of its
// own.
#pragma once

#include <memory>

#include "base/result.h"

namespace minke::rpc {

class ClientMessage;
class ServerMessage;

template <typename Message>
class Envelope {
 public:
  Envelope();
  Envelope(Message message);  // NOLINT(google-explicit-constructor): it is the same message
  Envelope(const Envelope& other);
  Envelope(Envelope&& other) noexcept;
  Envelope& operator=(Envelope other) noexcept;
  ~Envelope();

  template <typename Body>
  bool has() const;
  // The body; an empty one if the message has another.
  template <typename Body>
  const Body& read() const;
  // Replaces a body of another type by an empty one.
  template <typename Body>
  Body& body();

  Message& message() { return *message_; }
  const Message& message() const { return *message_; }

 private:
  std::unique_ptr<Message> message_;
};

using RequestEnvelope = Envelope<ClientMessage>;
using AnswerEnvelope = Envelope<ServerMessage>;

// Makes the error the answer's body.
void set_error(ServerMessage& answer, const minke::Error& error);
// "Invalid job id specified", followed by the daemon's detail in parentheses if there is one. A code of 0:
// the answer has another body.
minke::Error error_of(const ServerMessage& answer);
bool is_last(const ServerMessage& answer);
// `more` follows `answer`: the lists of one kind of answer become one list. For kinds that report progress,
// the last one counts.
void merge_answer(ServerMessage& answer, ServerMessage&& more);

}  // namespace minke::rpc
