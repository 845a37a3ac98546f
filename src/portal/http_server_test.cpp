// The server's bounds in time, with short ones; those in size are in tests/test_attack_portal.py.
#include "portal/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "os/fd.h"

namespace minke::portal {
namespace {

// What comes for these bytes, until the server closes the connection.
std::string answer_to(uint16_t port, const std::string& request) {
  const os::UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  EXPECT_EQ(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got; (got = ::recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<size_t>(got));
  return answer;
}

class Server : public testing::Test {
 protected:
  void begin(HttpBounds bounds, HttpServer::Handler handler) {
    server_ = std::make_unique<HttpServer>(bounds);
    const auto port = server_->listen(0);
    ASSERT_TRUE(port);
    port_ = *port;
    thread_ = std::thread([this, handler = std::move(handler)] { server_->run(handler); });
  }
  ~Server() override {
    server_->stop();
    thread_.join();
  }

  std::unique_ptr<HttpServer> server_;
  uint16_t port_ = 0;
  std::thread thread_;
};

HttpServer::Handler echo() {
  return [](Request request, const HttpServer::Answer& answer) {
    answer({.type = "text/plain", .body = request.target + request.body});
  };
}

TEST_F(Server, AnswersOneRequestAfterTheOther) {
  begin({}, echo());
  const std::string answer =
      answer_to(port_,
                "GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                "Connection: close\r\n\r\nhi");
  EXPECT_NE(answer.find("\r\n\r\n/aHTTP/1.1 200 OK"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n/bhi")) << answer;
}

TEST_F(Server, ClosesWhatIsSlow) {
  begin({.request_time = std::chrono::milliseconds(50), .idle_time = std::chrono::milliseconds(50)}, echo());
  EXPECT_EQ(answer_to(port_, "GET /a HTTP/1.1\r\nHost"), "");
  EXPECT_EQ(answer_to(port_, ""), "");
}

TEST_F(Server, TakesAnAnswerFromAnyThreadAlsoTooLate) {
  std::thread late;
  begin({}, [&late](Request request, const HttpServer::Answer& answer) {
    if (request.target == "/now") return answer({.body = "now"});
    if (late.joinable()) late.join();
    late = std::thread([answer] { answer({.body = std::string(1 << 20, 'x')}); });
  });
  const std::string answer = answer_to(port_, "GET /late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_GT(answer.size(), size_t{1} << 20);
  late.join();
}

TEST_F(Server, TellsEventsToAllStreams) {
  begin({.event_streams = 1}, [](Request, const HttpServer::Answer& answer) {
    answer({.type = "text/event-stream", .is_event_stream = true});
  });
  server_->post([this] {
    server_->on_streams_changed([this](const std::string&) {
      if (server_->event_streams() == 1) {
        server_->publish("jobs", "{}");
        server_->after(std::chrono::milliseconds(20), [this] { server_->stop(); });
      }
    });
  });
  const os::UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port_);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  const std::string request = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(::send(socket.get(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string got;
  char buffer[4096];
  while (got.find("event: jobs\ndata: {}\n\n") == std::string::npos) {
    const ssize_t bytes = ::recv(socket.get(), buffer, sizeof buffer, 0);
    ASSERT_GT(bytes, 0) << got;
    got.append(buffer, static_cast<size_t>(bytes));
  }
}

}  // namespace
}  // namespace minke::portal
