// Connection and Channel against each other over a real socket: framing, descriptors, bad input.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "os/pass_descriptors.h"
#include "rpc/channel.h"
#include "rpc/connection.h"
#include "rpc/frame.h"
#include "rpc/messages.pb.h"

namespace minke::rpc {
namespace {

using namespace std::chrono_literals;

struct Pair {
  os::UniqueFd server, client;
};
Pair socket_pair() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {os::UniqueFd(fds[0]), os::UniqueFd(fds[1])};
}

// A server that answers each request with the request's own id until its peer leaves; `closed` is why.
struct EchoServer {
  explicit EchoServer(os::UniqueFd socket, size_t limit = kMaxRequestBytes) {
    connection = Connection::start(
        loop, std::move(socket), limit,
        {.on_frame =
             [this](std::string_view frame, std::vector<os::UniqueFd> descriptors) {
               ClientMessage request;
               ASSERT_TRUE(request.ParseFromArray(frame.data(), static_cast<int>(frame.size())));
               ServerMessage reply;
               reply.set_request_id(request.request_id());
               reply.mutable_submit()->set_job_id(static_cast<uint32_t>(descriptors.size()));
               for (const auto& fd : descriptors) ASSERT_EQ(write(fd.get(), "x", 1), 1);
               connection->send(reply);
             },
         .on_close =
             [this](Status why) {
               closed = std::move(why);
               loop.stop();
             }});
    thread = std::thread([this] { loop.run(); });
  }
  Status wait() {
    thread.join();
    return closed;
  }
  os::EventLoop loop;
  std::unique_ptr<Connection> connection;
  Status closed;
  std::thread thread;
};

TEST(Conversation, AnswersEveryRequestInOrder) {
  Pair pair = socket_pair();
  EchoServer server(std::move(pair.server));
  {
    Channel channel(std::move(pair.client));
    for (uint32_t id = 1; id <= 500; ++id) {
      ClientMessage request;
      request.set_request_id(id);
      request.mutable_submit()->set_script(std::string(id * 37, 's'));
      ASSERT_TRUE(channel.send(request));
    }
    for (uint32_t id = 1; id <= 500; ++id) {
      ServerMessage reply;
      ASSERT_TRUE(channel.receive(reply, 10s));
      EXPECT_EQ(reply.request_id(), id);
    }
  }
  EXPECT_TRUE(server.wait());
}

TEST(Conversation, DescriptorsArriveWithTheirOwnFrame) {
  Pair pair = socket_pair();
  EchoServer server(std::move(pair.server));
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  {
    Channel channel(std::move(pair.client));
    ClientMessage request;
    request.mutable_status();
    const int passed[] = {pipe_fds[1], pipe_fds[1]};
    for (uint32_t id = 1; id <= 30; ++id) {
      request.set_request_id(id);
      ASSERT_TRUE(channel.send(request, id % 3 == 0 ? std::span<const int>(passed) : std::span<const int>()));
    }
    for (uint32_t id = 1; id <= 30; ++id) {
      ServerMessage reply;
      ASSERT_TRUE(channel.receive(reply, 10s));
      EXPECT_EQ(reply.submit().job_id(), id % 3 == 0 ? 2u : 0u) << id;
    }
  }
  EXPECT_TRUE(server.wait());
  close(pipe_fds[1]);
  char buffer[64];
  EXPECT_EQ(read(pipe_fds[0], buffer, sizeof(buffer)), 20);
  close(pipe_fds[0]);
}

TEST(Conversation, OneFrameBringsMoreDescriptorsThanTheKernelTakesAtOnce) {
  Pair pair = socket_pair();
  EchoServer server(std::move(pair.server));
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  {
    Channel channel(std::move(pair.client));
    ClientMessage request;
    request.mutable_status();
    const std::vector<int> passed(2 * os::kMaxDescriptorsAtOnce + 1, pipe_fds[1]);
    for (uint32_t id = 1; id <= 2; ++id) {
      request.set_request_id(id);
      ASSERT_TRUE(channel.send(request, passed));
      ServerMessage reply;
      ASSERT_TRUE(channel.receive(reply, 10s));
      EXPECT_EQ(reply.submit().job_id(), passed.size());
    }
  }
  EXPECT_TRUE(server.wait());
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(Conversation, RefusesAnOversizedFrame) {
  Pair pair = socket_pair();
  EchoServer server(std::move(pair.server), 1000);
  Channel channel(std::move(pair.client));
  ClientMessage request;
  request.mutable_submit()->set_script(std::string(2000, 's'));
  ASSERT_TRUE(channel.send(request));
  const Status why = server.wait();
  ASSERT_FALSE(why);
  EXPECT_EQ(why.error().code, EMSGSIZE);
}

TEST(Conversation, SaysThatAMessageWasCutOff) {
  Pair pair = socket_pair();
  EchoServer server(std::move(pair.server));
  const std::string bytes = greeting() + frame_header({100, 0}) + "short";
  ASSERT_EQ(write(pair.client.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  pair.client.reset();
  EXPECT_FALSE(server.wait());
}

TEST(Conversation, AnnouncedDescriptorsMustCome) {
  Pair pair = socket_pair();
  EchoServer server(std::move(pair.server));
  const std::string bytes = greeting() + frame_header({0, 3});
  ASSERT_EQ(write(pair.client.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_FALSE(server.wait());
}

// Each go_on() handles one request.
TEST(Conversation, OneRequestATurn) {
  Pair pair = socket_pair();
  constexpr int kRequests = 500;
  std::string requests = greeting();
  for (int i = 0; i < kRequests; ++i) {
    const std::string text = std::to_string(i);
    requests += frame_header({text.size(), 0}) + text;
  }
  ASSERT_EQ(os::send_bytes(pair.client.get(), requests, {}, MSG_DONTWAIT),
            static_cast<ssize_t>(requests.size()));
  pair.client.reset();
  os::EventLoop loop;
  std::unique_ptr<Connection> connection;
  bool turn = false;
  int turns = 0, handled = 0;
  connection = Connection::start(loop, std::move(pair.server), kMaxRequestBytes,
                                 {.on_frame =
                                      [&](std::string_view frame, std::vector<os::UniqueFd>) {
                                        EXPECT_EQ(frame, std::to_string(handled++));
                                        EXPECT_EQ(handled, turns);
                                      },
                                  .on_close = [&](Status) { loop.stop(); },
                                  .may_handle =
                                      [&] {
                                        if (std::exchange(turn, false)) return true;
                                        loop.post([&] {
                                          turn = true;
                                          ++turns;
                                          connection->go_on();
                                        });
                                        return false;
                                      }});
  loop.run();
  EXPECT_EQ(handled, kRequests);
}

TEST(Conversation, WhoeverWaitsForATurnIsNotReadFrom) {
  Pair pair = socket_pair();
  os::EventLoop loop;
  const auto connection =
      Connection::start(loop, std::move(pair.server), kMaxRequestBytes,
                        {.on_frame = {}, .on_close = [&](Status) {}, .may_handle = [] { return false; }});
  std::thread thread([&] { loop.run(); });
  std::string requests = greeting();
  while (requests.size() < 1 << 20) requests += frame_header({1000, 0}) + std::string(1000, 'r');
  constexpr size_t kMost = size_t{8} << 20;
  size_t taken = 0;
  pollfd room{pair.client.get(), POLLOUT, 0};
  while (taken < kMost && ::poll(&room, 1, 300) == 1) {
    const std::string_view rest = std::string_view(requests).substr(taken % requests.size());
    if (const ssize_t sent = os::send_bytes(pair.client.get(), rest, {}, MSG_DONTWAIT); sent > 0)
      taken += static_cast<size_t>(sent);
  }
  loop.stop();
  thread.join();
  EXPECT_LT(taken, kMost);  // a socket holds some hundred KiB
}

TEST(Conversation, BothSidesNameAnotherProtocolVersion) {
  Pair pair = socket_pair();
  EchoServer server(std::move(pair.server));
  std::string other = greeting();
  other[5] = 77;
  ASSERT_EQ(write(pair.client.get(), other.data(), other.size()), static_cast<ssize_t>(other.size()));
  const Status why = server.wait();
  ASSERT_FALSE(why);
  EXPECT_NE(why.error().message.find("77"), std::string::npos);

  Pair second = socket_pair();
  ASSERT_EQ(write(second.server.get(), other.data(), other.size()), static_cast<ssize_t>(other.size()));
  Channel channel(std::move(second.client));
  ServerMessage reply;
  const Status received = channel.receive(reply, 10s);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, EPROTO);
}

TEST(Conversation, ReceiveGivesUpAtItsDeadline) {
  Pair pair = socket_pair();
  Channel channel(std::move(pair.client));
  ServerMessage reply;
  const Status received = channel.receive(reply, 20ms);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, ETIMEDOUT);
}

}  // namespace
}  // namespace minke::rpc
