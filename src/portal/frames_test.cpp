#include "portal/frames.h"

#include <gtest/gtest.h>

namespace minke::portal {
namespace {

constexpr size_t kMost = 1 << 20;

std::optional<Frame> through(const Frame& frame) {
  FrameReader reader(kMost);
  reader.add(frame_bytes(frame));
  return reader.next();
}

TEST(Frames, ComeAsTheyWent) {
  Frame ask{.kind = FrameKind::kAsk, .number = 7};
  ask.request.method = "POST";
  ask.request.target = "/api/v1/jobs?x=1";
  ask.request.headers = {{"cookie", "secret"}, {"accept-encoding", "gzip"}};
  ask.request.body = std::string("{\0}", 3);
  const auto asked = through(ask);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->number, 7u);
  EXPECT_EQ(asked->request.method + asked->request.target, "POST/api/v1/jobs?x=1");
  EXPECT_EQ(asked->request.body.size(), 3u);
  EXPECT_EQ(asked->request.header("accept-encoding"), "gzip");
  EXPECT_EQ(asked->request.header("cookie"), "");

  Frame answer{.kind = FrameKind::kReply, .number = 7};
  answer.reply = {.status = 404, .body = "none", .headers = {{"Set-Cookie", "a=b"}, {"Allow", "GET"}}};
  const auto answered = through(answer);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->reply.status, 404u);
  EXPECT_EQ(answered->reply.body, "none");
  ASSERT_EQ(answered->reply.headers.size(), 1u);
  EXPECT_EQ(answered->reply.headers[0].first, "Allow");
}

TEST(Frames, ComeInPieces) {
  const std::string bytes =
      frame_bytes({.kind = FrameKind::kEvent, .number = 0, .name = "jobs", .data = "{}"}) +
      frame_bytes({.kind = FrameKind::kListeners, .number = 3});
  FrameReader reader(kMost);
  int frames = 0;
  for (const char c : bytes) {
    reader.add({&c, 1});
    while (reader.next()) ++frames;
  }
  EXPECT_EQ(frames, 2);
  EXPECT_FALSE(reader.has_failed());
}

TEST(Frames, OfAStrangerAreRefused) {
  const std::string good =
      frame_bytes({.kind = FrameKind::kEvent, .number = 0, .name = "jobs", .data = "{}"});
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char other : {'\0', '\x7f', '\xff'}) {
      std::string bytes = good;
      bytes[at] = other;
      FrameReader reader(kMost);
      reader.add(bytes);
      reader.next();  // refused, awaited or another one: it ends
    }
  }
  Frame two_lines{.kind = FrameKind::kEvent, .number = 0, .name = "jobs", .data = "{}\n\nevent: x"};
  EXPECT_FALSE(through(two_lines));
  Frame split{.kind = FrameKind::kReply, .number = 1};
  split.reply.headers = {{"Allow", "GET\r\nSet-Cookie: a=b"}};
  EXPECT_FALSE(through(split));
  FrameReader reader(64);
  reader.add(
      frame_bytes({.kind = FrameKind::kEvent, .number = 0, .name = "n", .data = std::string(100, 'x')}));
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.has_failed());
}

}  // namespace
}  // namespace minke::portal
