// Which request it is: the number of its field in rpc::ClientMessage (rpc/messages.proto),
// ClientMessage::kSubmit and so on. A name of its own, so that who is told of requests does not see all
// messages.
#pragma once

namespace minke::engine {

using RequestKind = int;

}  // namespace minke::engine
