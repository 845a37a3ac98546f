#include "engine/embedded/toml_text.h"

#include <gtest/gtest.h>

namespace minke::engine {
namespace {

TEST(TomlText, NamesTheLineOfWhatIsBeyondAscii) {
  EXPECT_EQ(line_of_stray_character("a = 1\nb = \"é\" # é\nc = 'é'\n"), std::nullopt);
  EXPECT_EQ(line_of_stray_character("a = 1\n\xef\xbb\xbd = 2\n"), 2U);
  EXPECT_EQ(line_of_stray_character("a = \"\\\"é\"\nb = 1 é"), 2U);
  EXPECT_EQ(line_of_stray_character("a = \"no end\né = 1"), 2U);
  EXPECT_EQ(line_of_stray_character("\xef\xbb\xbf"
                                    "a = 1"),
            std::nullopt);
  EXPECT_EQ(line_of_stray_character(""), std::nullopt);
}

TEST(TomlText, KnowsStringsOfSeveralLines) {
  EXPECT_EQ(line_of_stray_character("a = \"\"\"\né \" é \"\"\"\nb = '''é\né'''\n"), std::nullopt);
  EXPECT_EQ(line_of_stray_character("a = \"\"\"x \\\n  y é\"\"\""), std::nullopt);
  EXPECT_EQ(line_of_stray_character("a = \"\"\"x \\\n  é\"\"\""), 2U);
  EXPECT_EQ(line_of_stray_character("a = '''x'''é"), 1U);
}

}  // namespace
}  // namespace minke::engine
