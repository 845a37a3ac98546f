// What a worker can do to the front that asks it: it is its user's own process, who may make of it what he
// likes.
#include "portal/people.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <thread>

namespace minke::portal {
namespace {

class WithWorker : public testing::Test {
 protected:
  WithWorker() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    mine_ = os::UniqueFd(ends[0]);
    worker_ = os::UniqueFd(ends[1]);
    EXPECT_TRUE(server_.listen(0));
    thread_ = std::thread([this] { server_.run([](Request, const HttpServer::Answer&) {}); });
  }
  ~WithWorker() override {
    server_.stop();
    thread_.join();
  }

  // Asks once, with a worker that says these bytes when it is asked.
  Reply answer_of(const std::string& said) {
    std::promise<Reply> told;
    server_.post([this, &told] {
      people_.ask(7, "ticket", {.kind = FrameKind::kAsk},
                  [&told](Reply reply) { told.set_value(std::move(reply)); });
    });
    char buffer[4096];
    EXPECT_GT(::recv(worker_.get(), buffer, sizeof buffer, 0), 0);
    EXPECT_EQ(::send(worker_.get(), said.data(), said.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(said.size()));
    worker_.reset();
    return told.get_future().get();
  }

  os::UniqueFd mine_, worker_;
  HttpServer server_;
  People people_{server_,
                 [this](const std::string& ticket) { people_.have_worker(ticket, std::move(mine_)); }};
  std::thread thread_;
};

TEST_F(WithWorker, AnswersOnce) {
  Frame frame{.kind = FrameKind::kReply, .number = 1};
  frame.reply.body = "yes";
  EXPECT_EQ(answer_of(frame_bytes(frame) + frame_bytes(frame)).body, "yes");
}

TEST_F(WithWorker, EndsWithWhoTalksNonsense) {
  EXPECT_EQ(answer_of(std::string(64, '\xff')).status, 503u);
}

TEST_F(WithWorker, TakesNoAnswerToWhatWasNotAsked) {
  Frame frame{.kind = FrameKind::kReply, .number = 99};
  EXPECT_EQ(answer_of(frame_bytes(frame)).status, 503u);
}

TEST_F(WithWorker, TakesNoHeaderThatIsTwo) {
  Frame frame{.kind = FrameKind::kReply, .number = 1};
  frame.reply.headers = {{"ETag", "a\r\nSet-Cookie: b=c"}};
  EXPECT_EQ(answer_of(frame_bytes(frame)).status, 503u);
}

}  // namespace
}  // namespace minke::portal
