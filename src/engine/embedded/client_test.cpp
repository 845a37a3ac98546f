// The client against a daemon that dies before it answers, played by a thread of the test.
#include "engine/embedded/client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/actions.pb.h"
#include "api/triggers.pb.h"
#include "os/minke_home.h"
#include "rpc/channel.h"
#include "rpc/messages.pb.h"
#include "rpc/socket.h"
#include "store/testing.h"

namespace minke::engine::embedded {
namespace {

// Of this test alone, not of those after it.
class OwnHome {
 public:
  explicit OwnHome(const std::string& path) { MINKE_CHECK(::setenv("MINKE_HOME", path.c_str(), 1) == 0); }
  ~OwnHome() { ::unsetenv("MINKE_HOME"); }
  OwnHome(const OwnHome&) = delete;
  OwnHome& operator=(const OwnHome&) = delete;
};

// The next connection; none: nobody came.
os::UniqueFd next_connection(const os::UniqueFd& listening) {
  pollfd descriptor{listening.get(), POLLIN, 0};
  if (::poll(&descriptor, 1, 20'000) != 1) return {};
  return os::UniqueFd(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

// Returns what daemons were sent, of whom only the last one answers; the others die. `asks` uses the client.
std::vector<rpc::ClientMessage> sent(size_t times,
                                     const std::function<Result<api::ActionReply>(Client&)>& asks) {
  const store::testing::TemporaryDirectory home;
  const OwnHome own(home.path());
  auto listening = rpc::listen_at(os::socket_path(home.path()), 0600);
  MINKE_CHECK(listening);
  std::vector<rpc::ClientMessage> requests(times);
  std::thread daemons([&] {
    for (rpc::ClientMessage& request : requests) {
      rpc::Channel channel(next_connection(*listening));
      EXPECT_TRUE(channel.receive(request));
      if (&request != &requests.back()) continue;  // it dies
      rpc::ServerMessage answer;
      answer.set_request_id(request.request_id());
      answer.mutable_action()->set_changed(1);
      answer.set_last(true);
      EXPECT_TRUE(channel.send(answer));
    }
  });
  auto client = Client::connect();
  EXPECT_TRUE(client);
  if (client) {
    const auto reply = asks(**client);
    EXPECT_TRUE(reply && reply->changed() == 1);
  }
  daemons.join();
  return requests;
}

TEST(Client, ARequestThatIsSentAgainSaysWhenItWasSentFirst) {
  const std::time_t begin = std::time(nullptr);
  const auto requests = sent(3, [](Client& client) {
    api::HoldRequest release;
    release.set_kind(api::HoldRequest::RELEASE);
    release.add_jobs()->set_job_id(7);
    return client.hold(release);
  });
  EXPECT_EQ(requests[0].first_sent(), 0);
  EXPECT_TRUE(requests[0].key().empty());
  for (const size_t again : {1, 2}) {
    EXPECT_EQ(requests[again].hold().SerializeAsString(), requests[0].hold().SerializeAsString());
    EXPECT_GE(requests[again].first_sent(), begin);
    EXPECT_LE(requests[again].first_sent(), std::time(nullptr));
  }
  EXPECT_EQ(requests[2].first_sent(), requests[1].first_sent());
}

TEST(Client, WhatMustNotBeDoneTwiceHasAKeyThatStaysTheSame) {
  const auto set = [](Client& client) { return client.set_triggers({}); };
  const auto requests = sent(2, set);
  EXPECT_EQ(requests[0].key().size(), 16u);
  EXPECT_EQ(requests[1].key(), requests[0].key());
  EXPECT_NE(sent(1, set)[0].key(), requests[0].key());
}

}  // namespace
}  // namespace minke::engine::embedded
