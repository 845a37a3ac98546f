// HttpServer: HTTP/1.1 on one address, with bounds for everything that a client may send or hold on to.
//
// One thread does all input and output: the one that calls run(). A request is handed to the handler there;
// its answer may come from any thread, once. A client that is slow, silent or rude costs one connection, for
// a bounded time; a request that cannot be read is answered and the connection closed, so that nothing that
// follows it is taken for another request.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/result.h"
#include "portal/app_connection.h"
#include "portal/app_heads.h"
#include "portal/message.h"

namespace minke::portal {

class TlsContext;

// Where a request goes that is an application's.
struct Forwarding {
  AppAddress address;
  std::string group;  // of whom; end_forwards() names it
  // Asks for a way there; its answer comes once, in the server's thread.
  std::function<void(std::function<void(Result<AppConnection>)> connected)> connect;
};

struct HttpBounds {
  size_t header_bytes = 16 * 1024;
  size_t body_bytes = 1024 * 1024;
  size_t connections = 1024;
  size_t event_streams = 600;
  std::chrono::milliseconds request_time{10000};  // from a request's first byte to its last
  std::chrono::milliseconds idle_time{75000};     // of a connection between two requests
  std::chrono::milliseconds write_time{20000};    // without progress
};

class HttpServer {
 public:
  using Answer = std::function<void(Reply)>;
  using Handler = std::function<void(Request, Answer)>;

  explicit HttpServer(HttpBounds bounds = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens on loopback. Port 0: one that is free. Returns the port.
  Result<uint16_t> listen(uint16_t port);
  // At a socket that listens already; this takes it.
  Status listen_at(int socket);
  // All connections are TLS's from then on.
  void use_tls(std::unique_ptr<TlsContext> context);
  // A line that every answer's head has, too.
  void add_header(std::string line);
  // Asked first, with each request's head: a Forwarding, an answer at once, or nothing: it is the handler's.
  using Choice = std::variant<std::monostate, Reply, Forwarding>;
  void forward_by(std::function<Choice(const Request& head)> choose);
  // Serves until stop(), or a signal that ends a program.
  void run(Handler handler);

  // From any thread: stop(), publish() and post().
  void stop();
  // Sends an event to all open streams of a group. One that has not taken the last ones is closed: its page
  // asks again.
  void publish(std::string name, std::string data, std::string group = {});
  void post(std::function<void()> work);

  // In the server's thread.
  void after(std::chrono::milliseconds time, std::function<void()> work);
  size_t event_streams() const;
  size_t event_streams(const std::string& group) const;
  // Closes those of a group.
  void end_streams(const std::string& group);
  // The same of requests that are forwarded now, by the beginnings of their groups; "" is all.
  size_t forwards(std::string_view group) const;
  void end_forwards(std::string_view group);
  // Called whenever a stream has begun or ended, with its group.
  void on_streams_changed(std::function<void(const std::string& group)> tell);

  // Calls back whenever the descriptor can be read (written), until the Watch is destroyed, which may happen
  // inside the callback. The descriptor must outlive it.
  class Watch {
   public:
    virtual ~Watch() = default;
  };
  std::unique_ptr<Watch> on_readable(int fd, std::function<void()> callback);
  std::unique_ptr<Watch> on_writable(int fd, std::function<void()> callback);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace minke::portal
