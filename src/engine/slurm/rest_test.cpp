#include "engine/slurm/rest.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "os/fd.h"
#include "store/testing.h"

namespace minke::engine::slurm {
namespace {

// Answers one request with what it is told to, and keeps what it was asked.
class RestServer {
 public:
  explicit RestServer(std::string answer) : answer_(std::move(answer)) {
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~RestServer() {
    if (thread_.joinable()) thread_.join();
  }
  const std::string& path() const { return path_; }
  std::string asked() {  // once it has answered
    thread_.join();
    return asked_;
  }

 private:
  void serve() {
    const os::UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char buffer[4096];
    while (asked_.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::read(peer.get(), buffer, sizeof buffer);
      if (got <= 0) return;
      asked_.append(buffer, static_cast<size_t>(got));
    }
    // Byte by byte, as a network may deliver it.
    for (const char byte : answer_) {
      if (::send(peer.get(), &byte, 1, MSG_NOSIGNAL) != 1) return;
    }
  }

  const store::testing::TemporaryDirectory directory_;
  const std::string path_ = directory_.file("socket");
  std::string answer_, asked_;
  os::UniqueFd listener_;
  std::thread thread_;
};

Result<std::string> body(const Rest& rest) {
  std::string all;
  const Status done = rest.get("/slurm/v0.0.42/jobs/", [&](const NextBytes& next) -> Status {
    char buffer[7];
    for (;;) {
      const auto got = next(buffer, sizeof buffer);
      if (!got) return failure(got.error());
      if (*got == 0) return {};
      all.append(buffer, *got);
    }
  });
  if (!done) return failure(done.error());
  return all;
}

TEST(Rest, ReadsAnAnswerAsItComes) {
  std::string asked;
  {
    RestServer server(
        "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 12\r\n\r\n{\"jobs\": []}and more");
    EXPECT_EQ(body(Rest(server.path(), "a.b.c")).value_or(""), "{\"jobs\": []}");
    asked = server.asked();
  }
  EXPECT_TRUE(asked.starts_with("GET /slurm/v0.0.42/jobs/ HTTP/1.1\r\n")) << asked;
  EXPECT_NE(asked.find("X-SLURM-USER-TOKEN: a.b.c\r\n"), std::string::npos) << asked;
}

TEST(Rest, NamesATokenThatHasRunOut) {
  // 511: the token could be read, and slurmctld does not believe it.
  for (const char* status : {"401 UNAUTHORIZED", "511 Network Authentication Required"}) {
    RestServer server(std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 0\r\n\r\n");
    const auto answer = body(Rest(server.path(), "old"));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, EACCES);
    EXPECT_NE(answer.error().message.find("SLURM_JWT"), std::string::npos);
  }
}

TEST(Rest, RefusesWhatIsNoAnswer) {
  for (const char* answer :
       {"", "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"}) {
    RestServer server(answer);
    EXPECT_FALSE(body(Rest(server.path(), ""))) << answer;
  }
}

TEST(Rest, SaysWhereNobodyAnswers) {
  const auto answer = body(Rest("/tmp/there-is-no-such-socket", ""));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ECONNREFUSED);
  EXPECT_FALSE(body(Rest("nowhere", "")));
  EXPECT_FALSE(body(Rest("/tmp/there-is-no-such-socket", "a\r\nX-SLURM-USER-NAME: root")));
}

TEST(Rest, KnowsTheInterfacesOfReleases) {
  EXPECT_EQ(rest_interface("22.05.8"), "");
  EXPECT_EQ(rest_interface("23.11.1"), "v0.0.40");
  EXPECT_EQ(rest_interface("24.11.5"), "v0.0.42");
  EXPECT_EQ(rest_interface("26.05.5"), "v0.0.45");
}

}  // namespace
}  // namespace minke::engine::slurm
