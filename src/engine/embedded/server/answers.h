// Steps that every answer goes through before it is sent, whoever asked and whichever part made it.
//
// Records have keys by which a command that lost its connection finds its request again. They are removed
// here, because anybody who knew another user's key could act in its place. Texts that an earlier version
// admitted are cut to today's limits. An answer with many records becomes several messages, none longer than
// a frame; the reader merges the lists (rpc/envelope.h). Pure.
#pragma once

#include <cstddef>
#include <functional>

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine {

void remove_secrets(rpc::ServerMessage& message);
void cut_texts(rpc::ServerMessage& message);

// Calls `send` with the message or with parts of it; `more` tells that another part follows. A part has at
// most `most` bytes unless a single record is longer.
void send_in_parts(rpc::ServerMessage& message, size_t most,
                   const std::function<void(rpc::ServerMessage& part, bool more)>& send);

}  // namespace minke::engine
