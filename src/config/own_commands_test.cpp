#include "config/own_commands.h"

#include <gtest/gtest.h>

namespace minke::config {
namespace {

using Words = std::vector<std::string>;

TEST(OwnCommands, TheFileOfAUser) {
  const std::string file = "phone = [\"~/bin/tell\", \"a b; c\"]\nbeep = ['beep']\n";
  EXPECT_EQ(*command_words(file, "phone"), (Words{"~/bin/tell", "a b; c"}));
  EXPECT_EQ(*command_words(file, "beep"), Words{"beep"});
  EXPECT_EQ(command_words(file, "chat").error().message,
            "~/.config/minke/commands.toml has no chat = [\"PROGRAM\", \"ARGUMENT\", …]");
}

// A line in one piece would ask for a shell, or for rules of quoting.
TEST(OwnCommands, WhatIsNoListOfWords) {
  for (const char* wrong : {"", "a = 'tell me'", "a = []", "a = [1]", "a = ['']", "a = [['b']]",
                            "a = {b = 1}", "a = ['b', \"\\u0000\"]"})
    EXPECT_NE(command_words(wrong, "a").error().message.find("commands.toml has no a = "), std::string::npos)
        << wrong;
  EXPECT_NE(command_words("a = 1\nb = ", "a").error().message.find("commands.toml line 2: "),
            std::string::npos);
}

}  // namespace
}  // namespace minke::config
