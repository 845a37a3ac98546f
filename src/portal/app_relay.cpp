#include "portal/app_relay.h"

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "text/number.h"

namespace minke::portal {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr uint32_t kMostHead = 64 * 1024;
constexpr uint64_t kAnyLength = UINT64_MAX / 2;
constexpr std::chrono::seconds kStalled{60};   // a browser that neither reads nor sends
constexpr std::chrono::minutes kThinking{30};  // an application that works on an answer
constexpr std::chrono::hours kQuiet{4};        // both sides of a WebSocket
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

bool has_word(std::string_view list, std::string_view word) {
  for (const std::string_view one : text::split(list, ','))
    if (text::equals_ignoring_case(text::trim(one), word)) return true;
  return false;
}

HeadLines lines_of(const http::fields& fields) {
  HeadLines lines;
  for (const auto& field : fields)
    lines.emplace_back(std::string(field.name_string()), std::string(field.value()));
  return lines;
}

bool has_no_body(unsigned status) {
  return status == 204 || status == 304 || status < 200;
}

}  // namespace

bool asks_for_websocket(const Request& head) {
  return head.method == "GET" && has_word(head.header("connection"), "upgrade") &&
         text::equals_ignoring_case(head.header("upgrade"), "websocket");
}

AppRelay::AppRelay(asio::io_context& io, Client client, HeadParser&& parser, Request head, AppAddress address,
                   Done done)
    : client_(client),
      request_(std::move(parser)),
      head_(std::move(head)),
      address_(std::move(address)),
      done_(std::move(done)),
      application_(io),
      from_application_(kMostHead + sizeof piece_),
      wants_upgrade_(asks_for_websocket(head_)),
      keep_alive_(request_.get().keep_alive()) {
  request_.body_limit(kAnyLength);
}

void AppRelay::run(AppConnection application) {
  address_.strips = application.strips_address;
  address_.header = std::move(application.header);
  if (std::any_of(address_.header.begin(), address_.header.end(),
                  [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }))
    return refuse(502, "the session's header cannot be one");
  error_code error;
  application_.socket().assign(asio::ip::tcp::v4(), application.socket.get(), error);
  if (error) return refuse(502, "the application cannot be reached");
  application.socket.release();
  send_head();
}

void AppRelay::finish(Outcome outcome) {
  if (!done_) return;
  error_code ignored;
  application_.socket().close(ignored);
  if (std::exchange(watches_, false)) client_.stream.socket().cancel(ignored);
  const Done done = std::exchange(done_, nullptr);
  done(std::move(outcome));
}

void AppRelay::close() {
  if (pipe_ != nullptr) return pipe_->close();
  finish({});
}

void AppRelay::refuse(unsigned status, const char* words) {
  if (is_answered_) return finish({});
  finish({.is_free = false, .refusal = error_reply(status, minke::Error{0, words})});
}

// ---- the request
// ---------------------------------------------------------------------------------------------

void AppRelay::send_head() {
  const bool has_body = request_.content_length().value_or(0) > 0 || request_.chunked();
  asked_.method_string(head_.method);
  asked_.target(app_target(address_, head_.target));
  asked_.version(11);
  for (const auto& [name, value] : app_request_lines(address_, head_, wants_upgrade_))
    asked_.insert(name, value);
  if (request_.chunked())
    asked_.chunked(true);
  else if (request_.content_length())
    asked_.content_length(*request_.content_length());
  asked_.body().data = nullptr;
  asked_.body().size = 0;
  asked_.body().more = has_body;
  asked_writer_.emplace(asked_);
  application_.expires_after(kStalled);
  http::async_write_header(application_, *asked_writer_,
                           [self = shared_from_this(), has_body](const Error& error, size_t) {
                             if (error) return self->refuse(502, "the application does not answer");
                             if (has_body) return self->allow_body();
                             self->read_reply();
                           });
}

// A client may wait until it is told to send what is long.
void AppRelay::allow_body() {
  if (!text::equals_ignoring_case(head_.header("expect"), "100-continue")) return read_request_body();
  client_.stream.expires_after(kStalled);
  asio::async_write(client_.stream, asio::buffer(kContinue, sizeof kContinue - 1),
                    [self = shared_from_this()](const Error& error, size_t) {
                      if (error) return self->finish({});
                      self->read_request_body();
                    });
}

void AppRelay::read_request_body() {
  if (request_.is_done()) return write_request_body();
  request_.get().body().data = piece_.data();
  request_.get().body().size = piece_.size();
  client_.stream.expires_after(kStalled);
  http::async_read_some(client_.stream, client_.buffer, request_,
                        [self = shared_from_this()](Error error, size_t) {
                          if (error == http::error::need_buffer) error = {};
                          if (error == http::error::header_limit || error == http::error::bad_chunk ||
                              error == http::error::bad_chunk_extension)
                            return self->refuse(400, "the request was not read: its body is broken");
                          if (error) return self->finish({});
                          const size_t bytes = self->piece_.size() - self->request_.get().body().size;
                          if (bytes == 0 && !self->request_.is_done()) return self->read_request_body();
                          self->asked_.body().data = bytes == 0 ? nullptr : self->piece_.data();
                          self->asked_.body().size = bytes;
                          self->asked_.body().more = !self->request_.is_done();
                          self->write_request_body();
                        });
}

void AppRelay::write_request_body() {
  application_.expires_after(kStalled);
  http::async_write(application_, *asked_writer_, [self = shared_from_this()](Error error, size_t) {
    if (error == http::error::need_buffer) error = {};
    // One that has had enough may have answered.
    if (error || self->request_.is_done()) {
      if (error) self->keep_alive_ = false;
      return self->read_reply();
    }
    self->read_request_body();
  });
}

// ---- the answer
// ----------------------------------------------------------------------------------------------

void AppRelay::read_reply() {
  if (!std::exchange(watches_, true)) watch_client();
  reply_.emplace();
  reply_->header_limit(kMostHead);
  reply_->body_limit(kAnyLength);
  if (head_.method == "HEAD") reply_->skip(true);
  application_.expires_after(kThinking);
  http::async_read_header(
      application_, from_application_, *reply_,
      [self = shared_from_this()](const Error& error, size_t) { self->have_reply_head(error); });
}

// A browser that has gone needs no answer. What it sends meanwhile waits.
void AppRelay::watch_client() {
  client_.stream.socket().async_wait(
      asio::ip::tcp::socket::wait_read, [self = shared_from_this()](const Error& error) {
        if (error || !self->watches_) return;
        char one = 0;
        if (::recv(self->client_.stream.socket().native_handle(), &one, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
          self->watches_ = false;
          self->finish({});
        }
      });
}

void AppRelay::have_reply_head(const Error& error) {
  if (!done_) return;
  if (error) return refuse(502, "the application has ended without an answer, or its answer cannot be read");
  const unsigned status = reply_->get().result_int();
  if (status == 101) {
    if (!wants_upgrade_) return refuse(502, "the application changes its protocol without being asked");
    return upgrade();
  }
  if (status < 200) return read_reply();
  send_reply_head();
}

void AppRelay::send_reply_head() {
  const auto& head = reply_->get();
  told_.version(11);
  told_.result(head.result_int());
  told_.reason(head.reason());
  for (const auto& [name, value] : app_reply_lines(address_, lines_of(head), false))
    told_.insert(name, value);
  const bool is_head = head_.method == "HEAD", has_body = !is_head && !has_no_body(head.result_int());
  if (const auto length = reply_->content_length(); length && !has_no_body(head.result_int())) {
    told_.content_length(*length);
  } else if (has_body) {
    told_.chunked(request_.get().version() >= 11);
    keep_alive_ = keep_alive_ && request_.get().version() >= 11;
  }
  told_.set(http::field::connection, keep_alive_ ? "keep-alive" : "close");
  told_.body().data = nullptr;
  told_.body().size = 0;
  told_.body().more = has_body;
  told_writer_.emplace(told_);
  is_answered_ = true;
  client_.stream.expires_after(kStalled);
  http::async_write_header(client_.stream, *told_writer_,
                           [self = shared_from_this(), has_body](const Error& failed, size_t) {
                             if (failed) return self->finish({});
                             if (!has_body) return self->end_reply();
                             self->read_reply_body();
                           });
}

void AppRelay::read_reply_body() {
  if (!done_) return;
  if (reply_->is_done()) return write_reply_body(true);
  reply_->get().body().data = piece_.data();
  reply_->get().body().size = piece_.size();
  application_.expires_after(kThinking);
  http::async_read_some(application_, from_application_, *reply_,
                        [self = shared_from_this()](Error error, size_t) {
                          if (error == http::error::need_buffer) error = {};
                          if (error) return self->finish({});  // cut off: the browser sees that, too
                          const size_t bytes = self->piece_.size() - self->reply_->get().body().size;
                          const bool is_last = self->reply_->is_done();
                          if (bytes == 0 && !is_last) return self->read_reply_body();
                          self->told_.body().data = bytes == 0 ? nullptr : self->piece_.data();
                          self->told_.body().size = bytes;
                          self->told_.body().more = !is_last;
                          self->write_reply_body(is_last);
                        });
}

void AppRelay::write_reply_body(bool is_last) {
  if (!done_) return;
  told_.body().more = !is_last;
  client_.stream.expires_after(kStalled);
  http::async_write(client_.stream, *told_writer_, [self = shared_from_this(), is_last](Error error, size_t) {
    if (error == http::error::need_buffer) error = {};
    if (error) return self->finish({});
    if (is_last) return self->end_reply();
    self->read_reply_body();
  });
}

void AppRelay::end_reply() {
  finish({.is_free = keep_alive_ && request_.is_done()});
}

// ---- WebSocket
// -----------------------------------------------------------------------------------------------

void AppRelay::upgrade() {
  upgraded_head_ = "HTTP/1.1 101 Switching Protocols\r\n";
  for (const auto& [name, value] : app_reply_lines(address_, lines_of(reply_->get()), true))
    upgraded_head_ += name + ": " + value + "\r\n";
  upgraded_head_ += "\r\n";
  error_code ignored;
  watches_ = false;
  client_.stream.socket().cancel(ignored);
  const auto text_of = [](boost::beast::flat_buffer& buffer) {
    std::string bytes(static_cast<const char*>(buffer.data().data()), buffer.size());
    buffer.consume(buffer.size());
    return bytes;
  };
  is_answered_ = true;
  client_.stream.expires_never();
  application_.expires_never();
  pipe_ = std::make_shared<Pipe>(client_.stream.release_socket(), application_.release_socket(), kQuiet);
  pipe_->run(upgraded_head_ + text_of(from_application_), text_of(client_.buffer),
             [self = shared_from_this()] {
               self->pipe_ = nullptr;
               self->finish({});
             });
}

}  // namespace minke::portal
