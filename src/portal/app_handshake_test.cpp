#include "portal/app_handshake.h"

#include <gtest/gtest.h>

namespace minke::portal {
namespace {

TEST(AppHandshake, BothSidesShowTheSecret) {
  const std::string hello = app_hello(), answer = app_answer("secret", hello),
                    proof = app_proof("secret", hello, answer);
  ASSERT_EQ(proof.size(), kAppProof);
  EXPECT_TRUE(is_app_proof("secret", hello, answer, proof));
  EXPECT_FALSE(is_app_proof("other", hello, answer, proof));
  EXPECT_EQ(proof.find("secret"), std::string::npos);
}

TEST(AppHandshake, WhoeverDoesNotKnowItLearnsNothing) {
  const std::string hello = app_hello();
  EXPECT_EQ(app_proof("secret", hello, app_answer("other", hello)), "");
  EXPECT_EQ(app_proof("secret", hello, std::string(kAppAnswerBytes, '\0')), "");
  EXPECT_EQ(app_proof("secret", hello, ""), "");
  EXPECT_EQ(app_answer("secret", "GET / HTTP/1.1\r\n"), "");
}

TEST(AppHandshake, AnOldConversationIsNoUse) {
  const std::string hello = app_hello(), answer = app_answer("secret", hello),
                    proof = app_proof("secret", hello, answer);
  EXPECT_FALSE(is_app_proof("secret", hello, app_answer("secret", hello), proof));  // replayed to the gate
  EXPECT_EQ(app_proof("secret", app_hello(), answer), "");                          // replayed to the portal
  EXPECT_FALSE(is_app_proof("secret", hello, answer, answer.substr(kAppNonce)));    // reflected
}

}  // namespace
}  // namespace minke::portal
