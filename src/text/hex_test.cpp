#include "text/hex.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(Hex, EveryByteIsTwoDigits) {
  using namespace std::string_view_literals;
  EXPECT_EQ(to_hex("\x00\x0f\xf0\xff z"sv), "000ff0ff207a");
  EXPECT_EQ(to_hex(""), "");
}

}  // namespace
}  // namespace minke::text
