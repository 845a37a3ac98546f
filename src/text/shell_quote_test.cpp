#include "text/shell_quote.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(ShellQuote, EveryByteStaysAsItIs) {
  EXPECT_EQ(shell_quoted("two words"), "'two words'");
  EXPECT_EQ(shell_quoted("$HOME `id` \\ \" \n"), "'$HOME `id` \\ \" \n'");
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST(ShellQuote, AQuoteEndsTheQuotesAndBeginsThemAgain) {
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace minke::text
