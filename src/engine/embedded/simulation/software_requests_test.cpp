// Requests for software: who asks, who sees them, who answers, and how many there can be.
#include <gtest/gtest.h>

#include <string>

#include "api/software.pb.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/error.h"

namespace minke::engine::simulation {
namespace {

using model::SoftwareRequest;

class SoftwareRequestsTest : public RequestTest {
 protected:
  static rpc::RequestEnvelope asking(const std::string& package, const std::string& reason = "") {
    rpc::RequestEnvelope message;
    message.body<api::RequestSoftwareRequest>().set_package(package);
    message.body<api::RequestSoftwareRequest>().set_reason(reason);
    return message;
  }
  static rpc::RequestEnvelope answering(uint32_t id, SoftwareRequest::State state,
                                        const std::string& words = "") {
    rpc::RequestEnvelope message;
    auto& answer = message.body<api::AnswerSoftwareRequest>();
    answer.set_id(id);
    answer.set_state(state);
    answer.set_answer(words);
    return message;
  }
  api::SoftwareReply seen_by(uint32_t uid) {
    rpc::RequestEnvelope message;
    message.body<api::QuerySoftwareRequest>();
    return ask(uid, message).read<api::SoftwareReply>();
  }
};

TEST_F(SoftwareRequestsTest, WhoAskedSeesTheAnswerAndOthersSeeNothing) {
  ASSERT_EQ(outcome(kAlice, asking("polars", "for tables")), 0u) << what_was_said();
  EXPECT_EQ(seen_by(kBob).requests_size(), 0);
  ASSERT_EQ(seen_by(kRoot).requests_size(), 1);
  const SoftwareRequest asked = seen_by(kRoot).requests(0);
  EXPECT_EQ(asked.package() + ": " + asked.reason(), "polars: for tables");
  EXPECT_EQ(asked.uid(), kAlice);
  EXPECT_EQ(outcome(kAlice, answering(asked.id(), SoftwareRequest::DONE)),
            static_cast<uint32_t>(model::kAccessDenied));
  EXPECT_EQ(outcome(kRoot, answering(asked.id(), SoftwareRequest::DONE, "it is in avail_wheels")), 0u);
  EXPECT_NE(outcome(kRoot, answering(99, SoftwareRequest::DONE)), 0u);
  restart();
  ASSERT_EQ(seen_by(kAlice).requests_size(), 1);
  EXPECT_EQ(seen_by(kAlice).requests(0).state(), SoftwareRequest::DONE);
  EXPECT_EQ(seen_by(kAlice).requests(0).answer(), "it is in avail_wheels");
}

TEST_F(SoftwareRequestsTest, TextsAreBoundedAndClean) {
  EXPECT_NE(outcome(kAlice, asking("")), 0u);
  EXPECT_NE(outcome(kAlice, asking(" \n ")), 0u);
  EXPECT_NE(outcome(kAlice, asking(std::string(121, 'x'))), 0u);
  EXPECT_NE(outcome(kAlice, asking("x", std::string(1001, 'x'))), 0u);
  EXPECT_EQ(seen_by(kRoot).requests_size(), 0);
  ASSERT_EQ(outcome(kAlice, asking(" a\x1b[2Jb ", "one\ntwo\xff")), 0u);
  EXPECT_EQ(seen_by(kRoot).requests(0).package(), "a?[2Jb");
  EXPECT_EQ(seen_by(kRoot).requests(0).reason(), "one?two?");
}

TEST_F(SoftwareRequestsTest, AUserHasABoundedNumberAndTheSameIsAskedOnce) {
  for (int i = 0; i < 20; ++i) ASSERT_EQ(outcome(kAlice, asking("p" + std::to_string(i))), 0u);
  EXPECT_EQ(outcome(kAlice, asking("p3")), 0u);
  EXPECT_NE(outcome(kAlice, asking("p20")), 0u);
  EXPECT_EQ(outcome(kBob, asking("p20")), 0u) << what_was_said();
  ASSERT_EQ(seen_by(kAlice).requests_size(), 20);
  const uint32_t first = seen_by(kAlice).requests(0).id();
  EXPECT_EQ(outcome(kRoot, answering(first, SoftwareRequest::REFUSED, "too old")), 0u);
  EXPECT_EQ(outcome(kAlice, asking("p20")), 0u);
  EXPECT_EQ(seen_by(kAlice).requests_size(), 21);
}

}  // namespace
}  // namespace minke::engine::simulation
