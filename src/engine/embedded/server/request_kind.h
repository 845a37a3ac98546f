// RequestKind: the kind of a request, which is the number of its field in rpc::ClientMessage
// (rpc/messages.proto): ClientMessage::kSubmit and so on. It has its own header, so that users of it
// need not include all messages.
#pragma once

namespace minke::engine {

using RequestKind = int;

}  // namespace minke::engine
