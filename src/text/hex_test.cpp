#include "text/hex.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(Hex, EveryByteIsTwoDigits) {
  using namespace std::string_view_literals;
  EXPECT_EQ(to_hex("\x00\x0f\xf0\xff z"sv), "000ff0ff207a");
  EXPECT_EQ(to_hex(""), "");
  EXPECT_EQ(from_hex("000ff0ff207a"), "\x00\x0f\xf0\xff z"sv);
  for (const char* damaged : {"", "7", "x7", "-1", "+1"}) EXPECT_EQ(from_hex(damaged), "") << damaged;
  EXPECT_EQ(from_hex("41z942"), "A");
}

}  // namespace
}  // namespace minke::text
