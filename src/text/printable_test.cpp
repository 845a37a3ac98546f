#include "text/printable.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(Printable, WordsOfAnyAlphabetStay) {
  for (const char* words : {"", "train-v2 (lr=1e-3)", "café", "Größe", "学習", "обучение", "שלום", "🐋"})
    EXPECT_EQ(printable(words), words);
}

TEST(Printable, WhatATerminalObeysIsReplaced) {
  EXPECT_EQ(printable("\x1b]0;title\x07"), "?]0;title?");
  EXPECT_EQ(printable("a\x1b[2Jb"), "a?[2Jb");
  EXPECT_EQ(printable("a\rb\bc\x7f"), "a?b?c?");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31mb"),
            "a?31mb")
      << "CSI as one character";
  EXPECT_EQ(printable("a\x9b"
                      "31mb"),
            "a?31mb")
      << "CSI as one byte";
}

TEST(Printable, AValueIsOneLine) {
  EXPECT_EQ(printable("a\n7|root|COMPLETED"), "a?7|root|COMPLETED");
  EXPECT_EQ(printable("a\tb"), "a?b");
  EXPECT_EQ(printable("a\u2028b\u2029c\xc2\x85"), "a?b?c?");
}

TEST(Printable, WritingIsNotReversed) {
  EXPECT_EQ(printable("a\u202eb\u2066c\u200f"), "a?b?c?");
}

TEST(Printable, WhatIsNotUtf8IsReplacedByteByByte) {
  EXPECT_EQ(printable("caf\xe9"), "caf?");
  EXPECT_EQ(printable("\xc0\x9b\xe0\x80\x9b"), "?????") << "too long a form of a control";
  EXPECT_EQ(printable("\xed\xa0\x80\xf4\x90\x80\x80"), "??") << "no characters, if well formed";
  EXPECT_EQ(printable("\xe5\xad"), "??") << "cut off";
}

TEST(Printable, OnlyFromAPlaceOn) {
  std::string text = "a\nb\nc";
  make_printable(text, 2);
  EXPECT_EQ(text, "a\nb?c");
}

TEST(Printable, LinesKeepTheirEndsAndTabs) {
  EXPECT_EQ(printable_lines("a\tb\n\x1b[1mc\r\n"), "a\tb\n?[1mc?\n");
}

}  // namespace
}  // namespace minke::text
