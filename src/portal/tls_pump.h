// Between a client that speaks TLS and the server of HTTP, which does not: bytes of one go to the other, as
// fast as it takes them. Of the server's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>

namespace minke::portal {

class TlsContext;

// Returns a socket of which the server reads what the client says; -1: there is none. The pump ends when
// either side closes, and if the handshake takes longer than `patience`.
int begin_tls_pump(boost::asio::io_context& io, TlsContext& context, boost::asio::ip::tcp::socket client,
                   std::chrono::milliseconds patience);

}  // namespace minke::portal
