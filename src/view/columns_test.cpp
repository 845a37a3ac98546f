#include "view/columns.h"

#include <gtest/gtest.h>

namespace minke::view {
namespace {

ColumnRequest left(size_t width, std::string suffix = "") {
  ColumnRequest column;
  column.width = width;
  column.suffix = std::move(suffix);
  return column;
}
ColumnRequest right(size_t width) {
  ColumnRequest column = left(width);
  column.right = true;
  return column;
}

std::string fitted(std::string value, const ColumnRequest& column, Overflow overflow) {
  std::string out = "|";
  out += value;
  fit_column(out, 1, column, overflow);
  return out;
}

TEST(ShortFormat, TakesWidthsSidesAndSuffixes) {
  FormatRequest format = parse_short_format("a %.18i %9P|%j(%r) ");
  EXPECT_EQ(format.prefix, "a ");
  ASSERT_EQ(format.columns.size(), 4u);
  EXPECT_EQ(format.columns[0].field, "i");
  EXPECT_EQ(format.columns[0].width, 18u);
  EXPECT_TRUE(format.columns[0].right);
  EXPECT_EQ(format.columns[0].suffix, " ");
  EXPECT_EQ(format.columns[1].field, "P");
  EXPECT_FALSE(format.columns[1].right);
  EXPECT_EQ(format.columns[1].suffix, "|");
  EXPECT_EQ(format.columns[2].suffix, "(");
  EXPECT_EQ(format.columns[3].width, 0u);
  EXPECT_EQ(format.columns[3].suffix, ") ");
}

TEST(ShortFormat, KeepsWhatStandsBeforeTheFirstField) {
  EXPECT_EQ(parse_short_format("|%A|%u").prefix, "|");
  EXPECT_EQ(parse_short_format("plain").prefix, "plain");
  EXPECT_TRUE(parse_short_format("plain").columns.empty());
  EXPECT_TRUE(parse_short_format("").columns.empty());
}

TEST(ShortFormat, PercentSignsAloneAreNoFields) {
  FormatRequest format = parse_short_format("%i%%");
  ASSERT_EQ(format.columns.size(), 1u);
  EXPECT_EQ(format.columns[0].field, "i");
  // A width without a letter is a column without a field.
  ASSERT_EQ(parse_short_format("%.5").columns.size(), 1u);
  EXPECT_EQ(parse_short_format("%.5").columns[0].field, "");
}

TEST(ShortFormat, BoundsTheWidth) {
  EXPECT_EQ(parse_short_format("%999999999999999999999999i").columns[0].width, 65536u);
}

TEST(LongFormat, TakesWidthsAndTextAfterTheColon) {
  FormatRequest format = parse_long_format("JobID:###turm###,Name: ,state,NodeList:.4x,UserName:\x1F,");
  ASSERT_EQ(format.columns.size(), 5u);
  EXPECT_EQ(format.columns[0].field, "jobid");
  EXPECT_EQ(format.columns[0].width, 0u);
  EXPECT_EQ(format.columns[0].suffix, "###turm###");
  EXPECT_EQ(format.columns[1].suffix, " ");
  EXPECT_EQ(format.columns[2].width, 20u);
  EXPECT_EQ(format.columns[3].width, 4u);
  EXPECT_TRUE(format.columns[3].right);
  EXPECT_EQ(format.columns[3].suffix, "x");
  EXPECT_EQ(format.columns[4].suffix, "\x1F");
  format = parse_long_format("Name:+5,State: 7,JobID:+");
  EXPECT_EQ(format.columns[0].width, 5u);
  EXPECT_EQ(format.columns[1].width, 7u);
  EXPECT_EQ(format.columns[2].suffix, "+");
}

TEST(FitColumn, WhatIsNotThereIsNotCut) {
  EXPECT_EQ(fitted("(null)", left(2, "|"), Overflow::kCut), "|  |");
  EXPECT_EQ(fitted("(null)", left(6, "|"), Overflow::kCut), "|(null)|");
  EXPECT_EQ(fitted("(null)", right(2), Overflow::kCut), "|(n");
  EXPECT_EQ(fitted("(nu", left(2, "|"), Overflow::kCut), "|(n|");
}

TEST(FitColumn, CutsAndPads) {
  EXPECT_EQ(fitted("train_resnet50", right(8), Overflow::kCut), "|train_re");
  EXPECT_EQ(fitted("ok", right(8), Overflow::kCut), "|      ok");
  EXPECT_EQ(fitted("ok", left(4, "|"), Overflow::kCut), "|ok  |");
  EXPECT_EQ(fitted("anything", left(0, "#"), Overflow::kCut), "|anything#");
}

TEST(FitColumn, LetsSomeFieldsSpillOnTheRightOnly) {
  EXPECT_EQ(fitted("n[1-20]", right(3), Overflow::kSpill), "|n[1-20]");
  EXPECT_EQ(fitted("n[1-20]", left(3), Overflow::kSpill), "|n[1");
  EXPECT_EQ(fitted("n[1-20]", right(3), Overflow::kCutReason), "|n[1-20]");
  EXPECT_EQ(fitted("(Resources)", right(3), Overflow::kCutReason), "|(Re");
}

}  // namespace
}  // namespace minke::view
