#include "submit/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "submit/help.h"

namespace minke::submit {
namespace {

constexpr Command kCommands[] = {Command::kSbatch, Command::kSalloc, Command::kSrun};

TEST(OptionTable, RowsAreConsistent) {
  for (Command command : kCommands) {
    std::set<std::string_view> names;
    std::set<char> letters;
    std::set<std::string> variables;
    for (const Option& option : all_options()) {
      if (!option.belongs_to(command)) continue;
      EXPECT_TRUE(names.insert(option.name).second) << option.name;
      if (option.letter != '\0') {
        EXPECT_TRUE(letters.insert(option.letter).second) << option.letter;
      }
      for (const std::string& variable : input_variables(option, command)) {
        EXPECT_TRUE(variables.insert(variable).second) << variable;
      }
    }
  }
  for (const Option& option : all_options()) {
    EXPECT_NE(option.commands, 0u) << option.name;
    EXPECT_FALSE(option.help.empty()) << option.name;
    // Whoever asks why gets an answer, and only where there is something to answer.
    EXPECT_EQ(option.reason.empty(), option.disposition == Disposition::kHonoured) << option.name;
    if (option.disposition == Disposition::kRefused) {
      EXPECT_EQ(option.set, nullptr) << option.name;
    }
  }
}

// The short options of Slurm 22.05's commands.
TEST(OptionTable, HasEveryLetterOfSlurm) {
  const std::pair<Command, std::string_view> known[] = {
      {Command::kSbatch, "abcdehikmnopqstvwxABCDFGHJLMNOQSVW"},
      {Command::kSalloc, "bcdhkmnpqstvwxABCDFGHIJKLMNOQSV"},
      {Command::kSrun, "bcdehiklmnopqrstuvwxABCDEFGHIJKLMNOQSTVWXZ"}};
  for (const auto& [command, letters] : known) {
    std::set<char> have;
    for (const Option& option : all_options()) {
      if (option.belongs_to(command) && option.letter != '\0') have.insert(option.letter);
    }
    EXPECT_EQ(have, std::set<char>(letters.begin(), letters.end())) << command_name(command);
  }
}

TEST(OptionTable, InputVariables) {
  auto variables = [](std::string_view name, Command command) {
    std::vector<std::string> out;
    for (const Option& option : all_options()) {
      if (option.name == name && option.belongs_to(command)) out = input_variables(option, command);
    }
    return out;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(variables("time", Command::kSbatch), ElementsAre("SBATCH_TIMELIMIT"));
  EXPECT_THAT(variables("time", Command::kSalloc), ElementsAre("SALLOC_TIMELIMIT"));
  EXPECT_THAT(variables("time", Command::kSrun), ElementsAre("SLURM_TIMELIMIT"));
  EXPECT_THAT(variables("ntasks", Command::kSrun), ElementsAre("SLURM_NPROCS", "SLURM_NTASKS"));
  EXPECT_THAT(variables("ntasks", Command::kSbatch), ElementsAre());
  EXPECT_THAT(variables("array", Command::kSbatch), ElementsAre("SBATCH_ARRAY_INX"));
}

TEST(Help, NamesEveryOption) {
  for (Command command : kCommands) {
    std::string help = help_text(command), page = man_page(command), usage = usage_text(command);
    for (const Option& option : all_options()) {
      if (!option.belongs_to(command)) continue;
      EXPECT_NE(help.find("--" + std::string(option.name)), std::string::npos) << option.name;
      if (option.disposition == Disposition::kHonoured) {
        EXPECT_NE(usage.find("--" + std::string(option.name)), std::string::npos) << option.name;
      }
    }
    EXPECT_TRUE(help.starts_with("Usage: " + std::string(command_name(command)) + " [OPTIONS...] "));
    EXPECT_NE(page.find("\\fB\\-t\\fR, \\fB\\-\\-time=limit\\fR\n"), std::string::npos);
    EXPECT_EQ(page.find("\n."), page.find("\n.SH NAME"));
    size_t start = 0;
    while (start < usage.size()) {
      size_t end = usage.find('\n', start);
      EXPECT_LE(end - start, 80u);
      start = end + 1;
    }
  }
}

}  // namespace
}  // namespace minke::submit
