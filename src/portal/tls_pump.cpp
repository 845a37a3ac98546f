#include "portal/tls_pump.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "portal/tls.h"

namespace minke::portal {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

// Each side is read only when what it said last was taken, so nothing piles up.
class Pump : public std::enable_shared_from_this<Pump> {
 public:
  Pump(asio::io_context& io, TlsContext& context, tcp::socket client, Local::socket server)
      : tls_(context), client_(std::move(client)), server_(std::move(server)), timer_(io) {}

  void run(std::chrono::milliseconds patience) {
    error_code ignored;
    client_.set_option(tcp::no_delay(true), ignored);
    client_.set_option(asio::socket_base::keep_alive(true), ignored);
    timer_.expires_after(patience);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error && !self->tls_.is_ready()) self->close();
    });
    read_client();
  }

 private:
  void read_client() {
    client_.async_read_some(asio::buffer(from_client_),
                            [self = shared_from_this()](const error_code& error, size_t bytes) {
                              self->have_read_client(error, bytes);
                            });
  }

  void have_read_client(const error_code& error, size_t bytes) {
    if (error) return end_of_client();
    std::string plain;
    goes_on_ = tls_.take({from_client_.data(), bytes}, plain);
    if (tls_.is_ready() && !std::exchange(reads_server_, true)) {
      timer_.cancel();
      read_server();
    }
    send_cipher();
    if (plain.empty()) return goes_on_ ? read_client() : end_of_client();
    to_server_ = std::move(plain);
    asio::async_write(server_, asio::buffer(to_server_),
                      [self = shared_from_this()](const error_code& failed, size_t) {
                        if (failed || !self->goes_on_) return self->end_of_client();
                        self->read_client();
                      });
  }

  // The server may still be answering.
  void end_of_client() {
    error_code ignored;
    if (!reads_server_) return close();
    server_.shutdown(asio::socket_base::shutdown_send, ignored);
  }

  void read_server() {
    server_.async_read_some(asio::buffer(from_server_),
                            [self = shared_from_this()](const error_code& error, size_t bytes) {
                              self->have_read_server(error, bytes);
                            });
  }

  void have_read_server(const error_code& error, size_t bytes) {
    is_over_ = error.failed() || !tls_.give({from_server_.data(), bytes});
    if (is_over_) tls_.close();
    wants_server_ = !is_over_;
    send_cipher();
  }

  // One write at a time; what comes meanwhile follows.
  void send_cipher() {
    if (is_sending_) return;
    to_client_ = tls_.cipher();
    if (to_client_.empty()) {
      if (is_over_) return close();
      if (std::exchange(wants_server_, false)) read_server();
      return;
    }
    is_sending_ = true;
    asio::async_write(client_, asio::buffer(to_client_),
                      [self = shared_from_this()](const error_code& error, size_t) {
                        self->is_sending_ = false;
                        if (error) return self->close();
                        self->send_cipher();
                      });
  }

  void close() {
    error_code ignored;
    timer_.cancel();
    client_.shutdown(tcp::socket::shutdown_both, ignored);
    client_.close(ignored);
    server_.close(ignored);
  }

  TlsSession tls_;
  tcp::socket client_;
  Local::socket server_;
  asio::steady_timer timer_;
  std::array<char, 16 * 1024> from_client_{}, from_server_{};
  std::string to_client_, to_server_;
  bool goes_on_ = true, reads_server_ = false, wants_server_ = false, is_sending_ = false, is_over_ = false;
};

}  // namespace

int begin_tls_pump(asio::io_context& io, TlsContext& context, tcp::socket client,
                   std::chrono::milliseconds patience) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  Local::socket server(io);
  error_code error;
  server.assign(Local(), ends[0], error);
  try {
    if (!error) std::make_shared<Pump>(io, context, std::move(client), std::move(server))->run(patience);
  } catch (const std::exception&) {  // no memory for another one
    error = asio::error::no_memory;
  }
  if (!error) return ends[1];
  ::close(ends[1]);
  return -1;
}

}  // namespace minke::portal
