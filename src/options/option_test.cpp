#include "options/option.h"

#include <gtest/gtest.h>

#include "options/arguments.h"
#include "options/help.h"

namespace minke::options {
namespace {

using enum ArgumentKind;

struct Asked {
  bool all = false;
  unsigned verbose = 0;
  std::vector<std::string> names;
  std::string format;
  struct {
    int order = 0;
  } how;
};

std::optional<int> refuse(Asked&, const Given& given) {
  return given.text() == "no" ? std::optional<int>(3) : std::nullopt;
}

constexpr Row<Asked> kRows[] = {
    {{"all", 'a', kNone, "", "all of them"}, flag<&Asked::all>},
    {{"format", 'o', kRequired, "format", "what to print", "", "SHOW_FORMAT"}, keep<&Asked::format>},
    {{"help", '\0', kNone, "", "show this"}, ignored<Asked>},
    {{"name", 'n', kRequired, "name(s)", ".dots and back\\slashes"}, list<&Asked::names>},
    {{"names", '\0', kRequired}, list<&Asked::names>},
    {{"refuse", '\0', kRequired, "a-rather-long-name-for-it", "ends it"}, refuse},
    {{"", 'v', kNone, "", "say more"}, count<&Asked::verbose>}};

Table<Asked> table() {
  return {{.name = "show", .purpose = "shows", .operands = "THING", .commands = "Commands:\n  -x\n"}, kRows};
}

TEST(Table, TakesWhatIsGiven) {
  const Table<Asked> all = table();
  const std::vector<std::string> words = {"-avv", "--name=a,,b", "-o", "x", "--refuse=yes", "--refuse=no"};
  const Arguments arguments = read_arguments(all.command.options, words, Order::kAnywhere);
  Asked asked;
  std::optional<int> status;
  for (const Setting& setting : arguments.settings)
    status = all.rows[setting.option].take(asked,
                                           {all.command, all.command.options[setting.option], setting.value});
  EXPECT_TRUE(asked.all);
  EXPECT_EQ(asked.verbose, 2u);
  EXPECT_EQ(asked.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(asked.format, "x");
  EXPECT_EQ(status, 3);
}

// An abbreviation of two names of one option is not ambiguous.
TEST(Table, OtherNamesMeanTheSame) {
  const Table<Asked> all = table();
  EXPECT_EQ(read_arguments(all.command.options, std::vector<std::string>{"--na=x"}, Order::kAnywhere).problem,
            "");
  EXPECT_EQ(all.command.options[4].meaning, 3u);
  EXPECT_EQ(all.command.options[6].meaning, 6u);
}

TEST(Table, MakesHelp) {
  EXPECT_EQ(help_text(table().command),
            "Usage: show [OPTIONS] THING\n"
            "  -a, --all                       all of them\n"
            "  -o, --format=format             what to print\n"
            "  -n, --name=name(s)              .dots and back\\slashes\n"
            "      --refuse=a-rather-long-name-for-it\n"
            "                                  ends it\n"
            "  -v                              say more\n"
            "\nHelp options:\n"
            "      --help                      show this\n"
            "\nCommands:\n  -x\n");
}

TEST(Table, MakesAManualPage) {
  EXPECT_EQ(man_page(table().command),
            ".TH show 1\n.SH NAME\nshow \\- shows\n.SH SYNOPSIS\n.B show\n[OPTIONS] THING\n.SH OPTIONS\n"
            ".TP\n\\fB\\-a, \\-\\-all\\fR\nall of them.\n"
            ".TP\n\\fB\\-o, \\-\\-format=format\\fR\nwhat to print.\n"
            ".TP\n\\fB\\-\\-help\\fR\nshow this.\n"
            ".TP\n\\fB\\-n, \\-\\-name=name(s)\\fR\n\\&.dots and back\\\\slashes.\n"
            ".TP\n\\fB\\-\\-refuse=a\\-rather\\-long\\-name\\-for\\-it\\fR\nends it.\n"
            ".TP\n\\fB\\-v\\fR\nsay more.\n"
            ".SH COMMANDS\n.nf\nCommands:\n  \\-x\n.fi\n"
            ".SH INPUT ENVIRONMENT VARIABLES\nThe command line wins over these.\n"
            ".TP\n\\fBSHOW_FORMAT\\fR\nSame as \\fB\\-\\-format\\fR.\n");
}

}  // namespace
}  // namespace minke::options
