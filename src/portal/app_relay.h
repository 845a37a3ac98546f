// Passes one request of a browser on to an interactive application, and its answer back: read and written
// anew on both sides, so that the two never disagree where a message ends. Bodies pass in pieces as they
// come; after an upgrade to WebSocket bytes pass as they are, both ways. The application is a stranger: its
// head has a bound, and what it says of the portal or the whole origin is left out (app_heads.h).
//
// Of the server's thread. It lives as long as one of its operations is under way.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "portal/app_connection.h"
#include "portal/app_heads.h"
#include "portal/byte_pipe.h"
#include "portal/message.h"

namespace minke::portal {

class AppRelay : public std::enable_shared_from_this<AppRelay> {
 public:
  using Body = boost::beast::http::buffer_body;
  using Parser = boost::beast::http::request_parser<Body>;
  using HeadParser = boost::beast::http::request_parser<boost::beast::http::empty_body>;
  struct Client {
    boost::beast::tcp_stream& stream;
    boost::beast::flat_buffer& buffer;  // what came behind the head
  };
  // How it went: the connection is free for the next request, or used up; or nothing was answered yet, and
  // this is to be.
  struct Outcome {
    bool is_free = false;
    std::optional<Reply> refusal = {};
  };
  using Done = std::function<void(Outcome)>;

  // `parser` has read the head. `client` must outlive it; what `done` holds may care for that.
  AppRelay(boost::asio::io_context& io, Client client, HeadParser&& parser, Request head, AppAddress address,
           Done done);

  void run(AppConnection application);
  // At once, whatever passes.
  void close();

 private:
  using Error = boost::system::error_code;
  using Pipe = BytePipe<boost::asio::ip::tcp::socket, boost::asio::ip::tcp::socket>;

  void finish(Outcome outcome);
  void refuse(unsigned status, const char* words);
  void send_head();
  void allow_body();
  void read_request_body();
  void write_request_body();
  void read_reply();
  void have_reply_head(const Error& error);
  void send_reply_head();
  void read_reply_body();
  void write_reply_body(bool is_last);
  void end_reply();
  void watch_client();
  void upgrade();

  Client client_;
  Parser request_;
  const Request head_;
  AppAddress address_;
  Done done_;
  boost::beast::tcp_stream application_;
  boost::beast::flat_buffer from_application_;
  boost::beast::http::request<Body> asked_;
  std::optional<boost::beast::http::request_serializer<Body>> asked_writer_;
  std::optional<boost::beast::http::response_parser<Body>> reply_;
  boost::beast::http::response<Body> told_;
  std::optional<boost::beast::http::response_serializer<Body>> told_writer_;
  std::array<char, 32 * 1024> piece_{};
  std::string upgraded_head_;
  std::shared_ptr<Pipe> pipe_;
  bool wants_upgrade_ = false, keep_alive_ = false, is_answered_ = false, watches_ = false;
};

// Whether a request asks for what only WebSocket needs: the one protocol that is passed on.
bool asks_for_websocket(const Request& head);

}  // namespace minke::portal
