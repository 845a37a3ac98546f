#include "helpers/mail/mime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::helpers {
namespace {

using testing::ElementsAre;

TEST(Mime, HeadersStayOneLine) {
  EXPECT_EQ(header_text("train"), "train");
  EXPECT_EQ(header_text("a\r\nBcc: everybody@b"), "a??Bcc: everybody@b");
  EXPECT_EQ(header_text("tab\there"), "tab?here");
  EXPECT_EQ(header_text(std::string("nul\0x", 5)), "nul?x");
}

TEST(Mime, HeadersThatAreNotAsciiAreEncoded) {
  EXPECT_EQ(header_text("caf\xc3\xa9"), "=?UTF-8?B?Y2Fmw6k=?=");
  EXPECT_EQ(header_text("=?UTF-8?B?QUJD?="), "=?UTF-8?B?PT9VVEYtOD9CP1FVSkQ/PQ==?=");
  EXPECT_EQ(header_text("\xff\xfe"), "??");
  const std::string many = header_text(std::string(300, 'x') + "\xc3\xa9");
  EXPECT_EQ(many.find_first_not_of("\r\n "), 0u);
  size_t from = 0;
  for (size_t end; (end = many.find("\r\n", from)) != std::string::npos; from = end + 2)
    EXPECT_LE(end - from, 76u);
}

TEST(Mime, BodiesAreAsciiInShortLines) {
  EXPECT_EQ(quoted_printable("plain\n"), "plain\r\n");
  EXPECT_EQ(quoted_printable("a=b \xc3\xa9"), "a=3Db =C3=A9\r\n");
  EXPECT_EQ(quoted_printable("ends with a blank \n"), "ends with a blank=20\r\n");
  EXPECT_EQ(quoted_printable(".\n..\n"), "=2E\r\n=2E.\r\n");
  const std::string text = quoted_printable(std::string(500, 'x'));
  for (size_t from = 0, end; (end = text.find("\r\n", from)) != std::string::npos; from = end + 2)
    EXPECT_LE(end - from, 76u);
  EXPECT_EQ(quoted_printable(std::string(75, 'x')), std::string(75, 'x') + "\r\n");
}

TEST(Mime, Recipients) {
  EXPECT_THAT(*recipients("me", "b.org"), ElementsAre("me@b.org"));
  EXPECT_THAT(*recipients("me, you@c", "b.org"), ElementsAre("me@b.org", "you@c"));
  EXPECT_THAT(*recipients("me", ""), ElementsAre("me"));
  for (const char* bad :
       {"", ",", "a b", "a\r\nBcc: c@d", "-oQ/tmp", "<a@b>", "a\"b@c", "1,2,3,4,5,6,7,8,9,10,11"})
    EXPECT_FALSE(recipients(bad, "b.org")) << bad;
}

TEST(Mime, Dates) {
  EXPECT_EQ(header_date(1795243200), "Sat, 21 Nov 2026 06:40:00 +0000");
}

TEST(Mime, TextIsClean) {
  EXPECT_EQ(clean_text("a\nb\tc\x1b[0m\xff caf\xc3\xa9"), "a\nb\tc?[0m? caf\xc3\xa9");
}

}  // namespace
}  // namespace minke::helpers
