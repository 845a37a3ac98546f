#include "grow/carry/usage_file.h"

#include <gtest/gtest.h>

namespace minke::grow {
namespace {

using namespace std::string_literals;

// As slurmctld 24.11.5 wrote it.
const std::string kOf2411 =
    "\x2a\x00\x00\x00\x00\x00\x6b\x04\x6e\x0c"
    "\x00\x00\x00\x02\x00\x00\x00\x09"
    "0.000000\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x04\x00\x00\x00\x09"
    "0.000000\x00\x00\x00\x00\x00\x00\x00\x00\x00"s;

TEST(UsageFile, IsReadAndWrittenAsSlurmDoes) {
  const auto file = parse_usage_file(kOf2411);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->version, 0x2a00);
  EXPECT_EQ(file->time, 0x6b046e0c);
  ASSERT_EQ(file->records.size(), 2u);
  EXPECT_EQ(file->records[1].id, 4u);
  EXPECT_EQ(format_usage_file(*file), kOf2411);
}

TEST(UsageFile, KeepsWhatWasUsed) {
  UsageFile file{.version = 0x2d00, .time = 1795451566};
  file.records.push_back({.id = 7, .raw = 12345.678901L, .tres = {{1, 50.5L}, {1001, 4.0L}}, .wall = 99});
  const auto again = parse_usage_file(format_usage_file(file));
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->records.size(), 1u);
  EXPECT_NEAR(static_cast<double>(again->records[0].raw), 12345.678901, 1e-6);
  EXPECT_EQ(again->records[0].tres.at(1001), 4.0L);
  EXPECT_EQ(again->records[0].wall, 99u);
}

TEST(UsageFile, OfAnotherFormIsRefused) {
  EXPECT_FALSE(parse_usage_file(""));
  EXPECT_FALSE(parse_usage_file(kOf2411.substr(0, kOf2411.size() - 1)));
  EXPECT_FALSE(parse_usage_file(kOf2411 + "x"));
  std::string newer = kOf2411;
  newer[0] = '\x7f';
  const auto refused = parse_usage_file(newer);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("0x7f00"), std::string::npos) << refused.error().message;
  std::string no_number = kOf2411;
  no_number.replace(no_number.find("0.0"), 3, "zzz");
  EXPECT_FALSE(parse_usage_file(no_number));
}

TEST(UsageFile, AnyBytesAreReadOrRefused) {
  for (size_t at = 0; at < kOf2411.size(); ++at) {
    for (const char byte : {'\x00', '\xff', '9'}) {
      std::string changed = kOf2411;
      changed[at] = byte;
      (void)parse_usage_file(changed);
    }
  }
}

}  // namespace
}  // namespace minke::grow
