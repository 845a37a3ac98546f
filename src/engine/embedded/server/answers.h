// What every answer goes through before it leaves, whoever asked and whatever part of the daemon made it.
//
// Records hold keys by which a command that lost its connection finds again what it asked for: they are the
// daemon's own, for who knows another's key could take his place. Texts that an earlier version let in are
// cut to what is let in today. And an answer of many records is several messages, so that none is longer than
// a frame: a reader of answers puts lists together (rpc/merge.h). Pure.
#pragma once

#include <cstddef>
#include <functional>

namespace minke::rpc {
class ServerMessage;
}  // namespace minke::rpc

namespace minke::engine {

void remove_secrets(rpc::ServerMessage& message);
void cut_texts(rpc::ServerMessage& message);

// Calls `send` with the message, or with parts of it, of which each but the last is followed by more. A part
// has at most so many bytes, if its records are no longer than that each.
void send_in_parts(rpc::ServerMessage& message, size_t most,
                   const std::function<void(rpc::ServerMessage& part, bool more)>& send);

}  // namespace minke::engine
