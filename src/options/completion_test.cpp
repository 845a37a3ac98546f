#include "options/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::options {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Command show_command() {
  Command command{.name = "show", .operand_values = "$list --all"};
  command.options = {{"colour", 'c', ArgumentKind::kRequired, "name", "it's [that]", "red green"},
                     {"color", '\0', ArgumentKind::kRequired},
                     {"log", 'l', ArgumentKind::kOptional, "a:b", "where to", "FILE"},
                     {"", 'q', ArgumentKind::kNone, "", "say nothing"}};
  return command;
}

std::string script(Shell shell, std::string_view operands = "$list --all") {
  Command command = show_command();
  command.operand_values = operands;
  return completion_script(shell, {&command, 1});
}

TEST(Completion, OfBash) {
  const std::string text = script(Shell::kBash);
  EXPECT_THAT(text, HasSubstr("options='--colour= --log -q' ;;"));
  EXPECT_THAT(text, HasSubstr("--colour|-c) COMPREPLY=($(compgen -W 'red green' -- \"$word\")); return ;;"));
  EXPECT_THAT(text, HasSubstr("--log|-l) COMPREPLY=($(compgen -f -- \"$word\")); return ;;"));
  EXPECT_THAT(text, HasSubstr("compgen -W \"$(list --all 2>/dev/null)\" -- \"$word\""));
  EXPECT_TRUE(text.ends_with("complete -F _minke show\n"));
  EXPECT_TRUE(script(Shell::kBash, "FILE").ends_with("complete -o default -F _minke show\n"));
}

TEST(Completion, OfZsh) {
  const std::string text = script(Shell::kZsh);
  EXPECT_THAT(text, HasSubstr("    '--colour=[it'\\''s \\[that\\]]:name:(red green)' \\\n"));
  EXPECT_THAT(text, HasSubstr("    '-l-[where to]::a\\:b:_files' \\\n"));
  EXPECT_THAT(text, HasSubstr("    '-q[say nothing]' \\\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "'*:operand:{compadd -- ${(f)\"$(list --all 2>/dev/null)\"}}'\n}\ncompdef _minke_show show\n"));
}

TEST(Completion, OfFish) {
  const std::string text = script(Shell::kFish);
  EXPECT_THAT(text, HasSubstr("complete -c show -f -a '(list --all 2>/dev/null)'\n"));
  EXPECT_THAT(text, HasSubstr("complete -c show -l colour -s c -x -a 'red green' -d 'it\\'s [that]'\n"));
  EXPECT_THAT(text, HasSubstr("complete -c show -s q -d 'say nothing'\n"));
  EXPECT_THAT(script(Shell::kFish, "FILE"), Not(HasSubstr("show -f")));
}

TEST(Completion, OffersNoOtherSpellings) {
  for (const Shell shell : {Shell::kBash, Shell::kZsh, Shell::kFish})
    EXPECT_THAT(script(shell), Not(HasSubstr("color")));
  EXPECT_EQ(shell_of("fish"), Shell::kFish);
  EXPECT_FALSE(shell_of("csh"));
}

}  // namespace
}  // namespace minke::options
