#include "text/characters.h"

#include <gtest/gtest.h>

namespace minke::text {
namespace {

TEST(Characters, ColumnsCountThem) {
  EXPECT_EQ(characters("tâche"), 5u);
  EXPECT_EQ(first_characters("tâches", 2), "tâ");
  EXPECT_EQ(first_characters("tâ", 5), "tâ");
  EXPECT_EQ(padded("tâche", 7), "tâche  ");
  EXPECT_EQ(padded("tâches", 3), "tâches");
}

}  // namespace
}  // namespace minke::text
