#include "portal/user_token.h"

#include <gtest/gtest.h>

namespace minke::portal {
namespace {

const std::string kKey(32, 'k');

TEST(UserToken, IsGoodForItsUserUntilItExpires) {
  const std::string token = make_token(kKey, "alice", 1000, 60);
  EXPECT_TRUE(token.starts_with("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.")) << token;  // as Slurm's begin
  EXPECT_TRUE(is_token(kKey, token, "alice", 1059));
  EXPECT_FALSE(is_token(kKey, token, "alice", 1060));
  EXPECT_FALSE(is_token(kKey, token, "bob", 1001));
  EXPECT_FALSE(is_token(std::string(32, 'x'), token, "alice", 1001));
}

TEST(UserToken, IsNothingThatWasChangedOrLeftUnsigned) {
  const std::string token = make_token(kKey, "alice", 1000, 60);
  for (size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    // The last letter of a signature has two bits that mean nothing.
    if (i + 1 == token.size()) continue;
    EXPECT_FALSE(is_token(kKey, other, "alice", 1001)) << i;
  }
  const std::string unsigned_one =
      "eyJhbGciOiJub25lIn0." + token.substr(token.find('.') + 1, token.rfind('.') - token.find('.'));
  for (const std::string& bad : {unsigned_one, std::string(), std::string("."), std::string(".."),
                                 std::string("a.b.c"), token + "A", "A" + token})
    EXPECT_FALSE(is_token(kKey, bad, "alice", 1001)) << bad;
}

}  // namespace
}  // namespace minke::portal
