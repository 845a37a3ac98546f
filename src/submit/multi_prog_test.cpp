#include "submit/multi_prog.h"

#include <gtest/gtest.h>

namespace minke::submit {
namespace {

using Programs = std::vector<std::vector<std::string>>;

TEST(MultiProg, NamesEachTasksProgram) {
  const auto programs = parse_multi_prog(
      "# who does what\n\n0   ./first %t\n1-2,4 second %t:%o 'two words' \\\n  more\n* rest %o\n", "f", 6);
  ASSERT_TRUE(programs);
  EXPECT_EQ(*programs, (Programs{{"./first", "0"},
                                 {"second", "1:0", "two words", "more"},
                                 {"second", "2:1", "two words", "more"},
                                 {"rest", "3"},
                                 {"second", "4:2", "two words", "more"},
                                 {"rest", "5"}}));
}

TEST(MultiProg, KeepsWhatQuotesHold) {
  const auto programs =
      parse_multi_prog("0 sh -c 'echo %t \"x\"' --json {\"n\":%t} a\\ b \\%o 10%\n", "f", 1);
  ASSERT_TRUE(programs);
  EXPECT_EQ(*programs, (Programs{{"sh", "-c", "echo %t \"x\"", "--json", "{\"n\":0}", "a b", "%o", "10%"}}));
}

TEST(MultiProg, SaysWhatIsWrong) {
  const auto error = [](const char* text) { return parse_multi_prog(text, "f", 2).error().message; };
  EXPECT_EQ(error("0 a\n"), "Configuration file f invalid, no record for task id 1");
  const auto in_line = [](int line, const std::string& why) {
    return why + (why.empty() ? "" : "\n") + "Line " + std::to_string(line) +
           " of configuration file f invalid";
  };
  EXPECT_EQ(error("0 a\n1-3 b\n"), in_line(2, "Invalid task id, 3 >= ntasks"));
  EXPECT_EQ(error("0 a\nx b\n"), in_line(2, "Invalid task range specification (x)"));
  EXPECT_EQ(error("1-0 a\n"), in_line(1, "Invalid task range, 1-0"));
  EXPECT_EQ(error("0-1 a\n1 b\n"), in_line(2, "Duplicate record for task 1"));
  EXPECT_EQ(error("* a\n1 b\n"), in_line(2, "Task range specification with asterisk must be last"));
  EXPECT_EQ(error("0\n"), in_line(1, ""));
}

}  // namespace
}  // namespace minke::submit
