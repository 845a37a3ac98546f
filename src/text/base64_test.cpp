#include "text/base64.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(Base64, PadsToFourLettersAndTakesEveryByte) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string_view("\0\xff\xfe", 3)), "AP/+");
}

}  // namespace
}  // namespace minke::text
