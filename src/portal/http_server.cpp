#include "portal/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "portal/app_connection.h"
#include "portal/app_relay.h"
#include "portal/descriptor_watch.h"
#include "portal/http_head.h"
#include "portal/tls.h"
#include "portal/tls_pump.h"
#include "text/number.h"

namespace minke::portal {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kPiece = 64 * 1024;
constexpr size_t kMostWaitingEvents = 64;
constexpr std::chrono::seconds kLinger{2};
constexpr size_t kMostLingering = 4 * 1024 * 1024;

// Returns the status that says why a request could not be read; 0: there is nobody to tell.
unsigned status_of_failure(const error_code& error) {
  if (error == http::error::end_of_stream || error == asio::error::eof ||
      error == asio::error::operation_aborted || error == asio::error::connection_reset)
    return 0;
  if (error == beast::error::timeout) return 0;  // its socket is closed already
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  return error.category() == http::make_error_code(http::error::bad_method).category() ? 400 : 0;
}

}  // namespace

class HttpServer::Impl {
 public:
  class Connection;

  explicit Impl(HttpBounds bounds) : bounds_(bounds), acceptor_(io_), again_(io_), signals_(io_) {}

  Result<uint16_t> listen(uint16_t port) {
    error_code error;
    const tcp::endpoint where(asio::ip::address_v4::loopback(), port);
    acceptor_.open(where.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(where, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return failure("127.0.0.1:" + std::to_string(port) + ": " + error.message(), error.value());
    return acceptor_.local_endpoint().port();
  }

  Status listen_at(int socket) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0)
      return failure_from_errno("getsockname", errno);
    error_code error;
    acceptor_.assign(own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), socket, error);
    if (error) return failure(error.message(), error.value());
    return {};
  }

  void run(Handler handler) {
    handler_ = std::move(handler);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signals_.add(number);
    signals_.async_wait([this](const error_code& error, int) {
      if (!error) io_.stop();
    });
    accept();
    io_.run();
  }

  void accept();
  void take(tcp::socket socket);

  HttpBounds bounds_;
  std::unique_ptr<TlsContext> tls_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer again_;
  asio::signal_set signals_;
  Handler handler_;
  std::function<Choice(const Request&)> choose_;
  std::function<void(const std::string&)> streams_changed_;
  std::string more_head_;
  size_t connections_ = 0;
  std::set<std::shared_ptr<Connection>> waiting_;  // for the handler's answer
  std::set<std::shared_ptr<Connection>> streams_;
  std::set<std::shared_ptr<Connection>> forwarded_;
};

// One client. Lives as long as an operation of its own is under way, or as it is an event stream.
class HttpServer::Impl::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Impl& server, tcp::socket socket, std::string peer)
      : server_(server), stream_(std::move(socket)), peer_(std::move(peer)) {
    ++server_.connections_;
    error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
    stream_.socket().set_option(asio::socket_base::keep_alive(true), ignored);
  }
  ~Connection() { --server_.connections_; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits for a request's first bytes, unless they came with the last one's.
  void wait() {
    if (buffer_.size() > 0) return read();
    stream_.expires_after(server_.bounds_.idle_time);
    stream_.async_read_some(buffer_.prepare(4096),
                            [self = shared_from_this()](const error_code& error, size_t bytes) {
                              if (error) return;
                              self->buffer_.commit(bytes);
                              self->read();
                            });
  }

  void send_event(const std::shared_ptr<const std::string>& text) {
    if (events_.size() >= kMostWaitingEvents) return end_stream();
    events_.push_back(text);
    if (events_.size() == 1) write_event();
  }

  const std::string& group() const { return reply_.group; }
  const std::string& forward_group() const { return forward_group_; }
  void end_forward() {
    const auto self = shared_from_this();
    if (server_.forwarded_.erase(self) == 0) return;
    if (const auto relay = relay_) return relay->close();
    close();
  }
  void end_stream() {
    if (server_.streams_.erase(shared_from_this()) == 0) return;
    close();
    if (server_.streams_changed_) server_.streams_changed_(reply_.group);
  }

  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

 private:
  void read() {
    head_parser_.emplace();
    head_parser_->header_limit(static_cast<uint32_t>(server_.bounds_.header_bytes));
    head_parser_->body_limit(UINT64_MAX / 2);  // once it is known whose it is
    stream_.expires_after(server_.bounds_.request_time);
    http::async_read_header(
        stream_, buffer_, *head_parser_,
        [self = shared_from_this()](const error_code& error, size_t) { self->have_head(error); });
  }

  void have_head(const error_code& error) {
    if (error) return have_failed(error);
    auto& message = head_parser_->get();
    keep_alive_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    request_ = {};
    request_.method = std::string(message.method_string());
    request_.target = std::string(message.target());
    for (const auto& field : message) {
      const std::string_view name(field.name_string().data(), field.name_string().size()),
          value(field.value().data(), field.value().size());
      std::string key = text::lower_case(name);
      if (!request_.header(key).empty() && !may_header_stand_twice(key)) return refuse(400);
      request_.headers.emplace_back(std::move(key), value);
    }
    // Others of its codings another reader might take for chunks.
    const std::string_view coding = request_.header("transfer-encoding");
    if (!coding.empty() && !text::equals_ignoring_case(coding, "chunked")) return refuse(400);
    request_.peer = peer_;
    if (server_.choose_) {
      Choice choice = server_.choose_(request_);
      if (auto* forwarding = std::get_if<Forwarding>(&choice)) return forward(std::move(*forwarding));
      if (auto* reply = std::get_if<Reply>(&choice)) {
        keep_alive_ = keep_alive_ && head_parser_->is_done();
        head_parser_.reset();
        return send(std::move(*reply));
      }
    }
    if (message.chunked()) return refuse(411);
    if (head_parser_->content_length().value_or(0) > server_.bounds_.body_bytes) return refuse(413);
    if (is_head_) request_.method = "GET";
    parser_.emplace(std::move(*head_parser_));
    head_parser_.reset();
    parser_->body_limit(server_.bounds_.body_bytes);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](const error_code& failed, size_t) { self->have_read(failed); });
  }

  void have_failed(const error_code& error) {
    if (const unsigned status = status_of_failure(error); status != 0) refuse(status);
  }

  void have_read(const error_code& error) {
    if (error) return have_failed(error);
    request_.body = std::move(parser_->get().body());
    parser_.reset();
    if (const Status read = read_target(request_); !read) return send(error_reply(400, read.error()));
    stream_.expires_never();
    // The answer may come from another thread, which must never be the one that frees a connection.
    server_.waiting_.insert(shared_from_this());
    server_.handler_(std::exchange(request_, {}), [&server = server_, weak = weak_from_this()](Reply reply) {
      asio::post(server.io_, [&server, weak, reply = std::move(reply)]() mutable {
        const auto self = weak.lock();
        if (self != nullptr && server.waiting_.erase(self) != 0) self->send(std::move(reply));
      });
    });
  }

  // ---- requests of applications
  // -----------------------------------------------------------------------------
  void forward(Forwarding forwarding) {
    stream_.expires_never();
    forward_group_ = std::move(forwarding.group);
    server_.forwarded_.insert(shared_from_this());
    forwarding.connect([weak = weak_from_this(),
                        address = forwarding.address](Result<AppConnection> connection) {
      const auto self = weak.lock();
      if (self == nullptr || !self->server_.forwarded_.contains(self)) return;
      if (!connection)
        return self->have_relayed({false, error_reply(status_of(connection.error()), connection.error())});
      self->relay(address, std::move(*connection));
    });
  }

  void relay(const AppAddress& address, AppConnection connection) {
    relay_ = std::make_shared<AppRelay>(
        server_.io_, AppRelay::Client{stream_, buffer_}, std::move(*head_parser_), std::move(request_),
        address,
        [self = shared_from_this()](AppRelay::Outcome outcome) { self->have_relayed(std::move(outcome)); });
    head_parser_.reset();
    const auto relay = relay_;  // it may end at once
    relay->run(std::move(connection));
  }

  void have_relayed(AppRelay::Outcome outcome) {
    relay_.reset();
    head_parser_.reset();
    if (server_.forwarded_.erase(shared_from_this()) == 0) return close();
    if (server_.streams_changed_) server_.streams_changed_(forward_group_);
    if (outcome.refusal) {
      keep_alive_ = false;
      return send(std::move(*outcome.refusal));
    }
    if (!outcome.is_free) return linger();
    wait();
  }

  void refuse(unsigned status) {
    keep_alive_ = false;
    std::string words(status_words(status));
    send(error_reply(status, Error{0, "the request was not read: " + words}));
  }

  void send(Reply reply) {
    if (reply.is_event_stream && server_.streams_.size() >= server_.bounds_.event_streams)
      reply = error_reply(503, Error{0, "too many pages are open"});
    reply_ = std::move(reply);
    if (reply_.is_event_stream) keep_alive_ = true;
    const std::string_view body = reply_.lasting.empty() ? std::string_view(reply_.body) : reply_.lasting;
    head_ = head_of(reply_, body.size(), keep_alive_, server_.more_head_);
    const bool has_body =
        !is_head_ && !reply_.is_event_stream && reply_.status != 304 && reply_.status != 204;
    left_ = has_body ? body : std::string_view();
    write(head_, [self = shared_from_this()] { self->write_rest(); });
  }

  void write(std::string_view piece, std::function<void()> then) {
    stream_.expires_after(server_.bounds_.write_time);
    asio::async_write(stream_, asio::const_buffer(piece.data(), piece.size()),
                      [self = shared_from_this(), then = std::move(then)](const error_code& error, size_t) {
                        if (!error) return then();
                        if (self->reply_.is_event_stream) self->end_stream();
                      });
  }

  // In pieces, so that each has its own time: a large answer over a slow line goes on as long as it moves.
  void write_rest() {
    if (!left_.empty()) {
      const std::string_view piece = left_.substr(0, kPiece);
      left_.remove_prefix(piece.size());
      return write(piece, [self = shared_from_this()] { self->write_rest(); });
    }
    if (reply_.is_event_stream) return begin_stream();
    reply_ = {};
    if (!keep_alive_) return linger();
    wait();
  }

  // Takes what is still on its way before it closes: a client that is cut off while it sends does not read
  // the answer that says why.
  void linger() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    buffer_.clear();
    stream_.expires_after(kLinger);
    take_rest(kMostLingering);
  }
  void take_rest(size_t left) {
    stream_.async_read_some(buffer_.prepare(kPiece),
                            [self = shared_from_this(), left](const error_code& error, size_t bytes) {
                              if (error || bytes >= left) return self->close();
                              self->take_rest(left - bytes);
                            });
  }

  void begin_stream() {
    server_.streams_.insert(shared_from_this());
    stream_.expires_never();
    buffer_.clear();
    watch_for_end();
    if (server_.streams_changed_) server_.streams_changed_(reply_.group);
  }

  // A browser sends nothing on an event stream: whatever comes ends it.
  void watch_for_end() {
    stream_.socket().async_wait(tcp::socket::wait_read,
                                [self = shared_from_this()](const error_code&) { self->end_stream(); });
  }

  void write_event() {
    stream_.expires_after(server_.bounds_.write_time);
    asio::async_write(stream_, asio::buffer(*events_.front()),
                      [self = shared_from_this()](const error_code& error, size_t) {
                        if (error) return self->end_stream();
                        self->stream_.expires_never();
                        self->events_.pop_front();
                        if (!self->events_.empty()) self->write_event();
                      });
  }

  Impl& server_;
  beast::tcp_stream stream_;
  const std::string peer_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> head_parser_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Request request_;  // that is read, or forwarded
  std::shared_ptr<AppRelay> relay_;
  std::string forward_group_;
  Reply reply_;
  std::string head_;
  std::string_view left_;
  bool keep_alive_ = false, is_head_ = false;
  std::deque<std::shared_ptr<const std::string>> events_;  // the first one is being written
};

void HttpServer::Impl::accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {  // without descriptors, for example: what is open ends some time
      again_.expires_after(std::chrono::milliseconds(200));
      return again_.async_wait([this](const error_code& stopped) {
        if (!stopped) accept();
      });
    }
    if (connections_ < bounds_.connections) take(std::move(socket));
    accept();
  });
}

void HttpServer::Impl::take(tcp::socket socket) {
  error_code unknown;
  const tcp::endpoint from = socket.remote_endpoint(unknown);
  const std::string peer = unknown ? std::string() : from.address().to_string();
  if (tls_ == nullptr) return std::make_shared<Connection>(*this, std::move(socket), peer)->wait();
  const int inner = begin_tls_pump(io_, *tls_, std::move(socket), bounds_.request_time);
  if (inner < 0) return;
  tcp::socket plain(io_);
  error_code error;
  plain.assign(tcp::v4(), inner, error);
  if (error) return (void)::close(inner);
  std::make_shared<Connection>(*this, std::move(plain), peer)->wait();
}

HttpServer::HttpServer(HttpBounds bounds) : impl_(std::make_unique<Impl>(bounds)) {}
HttpServer::~HttpServer() {
  impl_->streams_changed_ = nullptr;
  impl_->streams_.clear();
  impl_->waiting_.clear();
  end_forwards("");
}
Result<uint16_t> HttpServer::listen(uint16_t port) {
  return impl_->listen(port);
}
void HttpServer::run(Handler handler) {
  impl_->run(std::move(handler));
}
void HttpServer::stop() {
  impl_->io_.stop();
}
void HttpServer::post(std::function<void()> work) {
  asio::post(impl_->io_, std::move(work));
}
Status HttpServer::listen_at(int socket) {
  return impl_->listen_at(socket);
}
void HttpServer::use_tls(std::unique_ptr<TlsContext> context) {
  impl_->tls_ = std::move(context);
}
void HttpServer::add_header(std::string line) {
  impl_->more_head_ += std::move(line) + "\r\n";
}
size_t HttpServer::event_streams() const {
  return impl_->streams_.size();
}
size_t HttpServer::event_streams(const std::string& group) const {
  return static_cast<size_t>(std::count_if(impl_->streams_.begin(), impl_->streams_.end(),
                                           [&](const auto& stream) { return stream->group() == group; }));
}
void HttpServer::end_streams(const std::string& group) {
  // One that ends leaves the list.
  const std::vector<std::shared_ptr<Impl::Connection>> streams(impl_->streams_.begin(),
                                                               impl_->streams_.end());
  for (const auto& stream : streams)
    if (stream->group() == group) stream->end_stream();
}
size_t HttpServer::forwards(std::string_view group) const {
  return static_cast<size_t>(
      std::count_if(impl_->forwarded_.begin(), impl_->forwarded_.end(),
                    [&](const auto& one) { return one->forward_group().starts_with(group); }));
}
void HttpServer::end_forwards(std::string_view group) {
  const std::vector<std::shared_ptr<Impl::Connection>> all(impl_->forwarded_.begin(),
                                                           impl_->forwarded_.end());
  for (const auto& one : all)
    if (one->forward_group().starts_with(group)) one->end_forward();
}
void HttpServer::forward_by(std::function<Choice(const Request&)> choose) {
  impl_->choose_ = std::move(choose);
}
void HttpServer::on_streams_changed(std::function<void(const std::string& group)> tell) {
  impl_->streams_changed_ = std::move(tell);
}

void HttpServer::publish(std::string name, std::string data, std::string group) {
  auto text = std::make_shared<const std::string>("event: " + name + "\ndata: " + data + "\n\n");
  asio::post(impl_->io_, [impl = impl_.get(), text = std::move(text), group = std::move(group)] {
    // A stream may end while it is told.
    const std::vector<std::shared_ptr<Impl::Connection>> streams(impl->streams_.begin(),
                                                                 impl->streams_.end());
    for (const auto& stream : streams)
      if (stream->group() == group) stream->send_event(text);
  });
}

std::unique_ptr<HttpServer::Watch> HttpServer::on_readable(int fd, std::function<void()> callback) {
  return std::make_unique<DescriptorWatch>(impl_->io_, fd, asio::posix::descriptor_base::wait_read,
                                           std::move(callback));
}
std::unique_ptr<HttpServer::Watch> HttpServer::on_writable(int fd, std::function<void()> callback) {
  return std::make_unique<DescriptorWatch>(impl_->io_, fd, asio::posix::descriptor_base::wait_write,
                                           std::move(callback));
}

void HttpServer::after(std::chrono::milliseconds time, std::function<void()> work) {
  auto timer = std::make_shared<asio::steady_timer>(impl_->io_, time);
  timer->async_wait([timer, work = std::move(work)](const error_code& error) {
    if (!error) work();
  });
}

}  // namespace minke::portal
