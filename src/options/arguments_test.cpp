#include "options/arguments.h"

#include <getopt.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace minke::options {
namespace {

using enum ArgumentKind;

// Names with a common beginning, of one meaning (the last column) and of several.
constexpr Option kOptions[] = {{"account", 'A', kRequired, {}, {}, {}, {}, 0},
                               {"accounts", '\0', kRequired, {}, {}, {}, {}, 0},
                               {"all", 'a', kNone, {}, {}, {}, {}, 2},
                               {"jobs", 'j', kOptional, {}, {}, {}, {}, 3},
                               {"json", '\0', kOptional, {}, {}, {}, {}, 4},
                               {"node", '\0', kRequired, {}, {}, {}, {}, 5},
                               {"nodes", '\0', kRequired, {}, {}, {}, {}, 5},
                               {"noheader", 'h', kNone, {}, {}, {}, {}, 7},
                               {"", 'q', kNone, {}, {}, {}, {}, 8},
                               {"sib", '\0', kNone, {}, {}, {}, {}, 9},
                               {"sibling", '\0', kNone, {}, {}, {}, {}, 9}};

struct Read {
  std::string text, problem;
};

int getopt_kind(ArgumentKind kind) {
  return kind == kNone ? no_argument : kind == kRequired ? required_argument : optional_argument;
}

Read by_getopt(std::vector<std::string> words, Order order) {
  std::vector<option> names;
  std::string letters = order == Order::kFirst ? "+" : "";
  for (const Option& one : kOptions) {
    if (!one.name.empty())
      names.push_back(
          {one.name.data(), getopt_kind(one.argument), nullptr, 1000 + static_cast<int>(one.meaning)});
    if (one.letter != '\0')
      letters.append(1, one.letter).append(static_cast<size_t>(getopt_kind(one.argument)), ':');
  }
  names.push_back({nullptr, 0, nullptr, 0});
  std::vector<char*> argv = {const_cast<char*>("x")};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(argv.size()) - 1;
  Read read;
  optind = 0;
  opterr = 1;
  testing::internal::CaptureStderr();
  for (int got; (got = getopt_long(argc, argv.data(), letters.c_str(), names.data(), nullptr)) != -1;) {
    if (got == '?') {
      read.problem = testing::internal::GetCapturedStderr();
      return read;
    }
    size_t meaning = static_cast<size_t>(got - 1000);
    for (const Option& one : kOptions)
      if (one.letter == got) meaning = one.meaning;
    read.text += std::to_string(meaning) + (optarg != nullptr ? "=" + std::string(optarg) : "") + " ";
  }
  testing::internal::GetCapturedStderr();
  for (int i = optind; i < argc; ++i) read.text.append("| ").append(argv[static_cast<size_t>(i)]);
  return read;
}

Read by_us(const std::vector<std::string>& words, Order order) {
  const Arguments arguments = read_arguments(kOptions, words, order);
  if (!arguments.problem.empty()) return {"", "x: " + arguments.problem + "\n"};
  Read read;
  for (const Setting& setting : arguments.settings)
    read.text +=
        std::to_string(kOptions[setting.option].meaning) + (setting.value ? "=" + *setting.value : "") + " ";
  for (const std::string& operand : arguments.operands) read.text += "| " + operand;
  return read;
}

// Random words: the result and the error messages are those of getopt.
TEST(Arguments, AreGetoptLongs) {
  const std::vector<std::string> pieces = {
      "-a",       "-A",    "-Ax",       "-A=x",   "-aAx",   "-j",      "-j12",    "-aj",       "-q",
      "-qa",      "-Z",    "-a-",       "-",      "--",     "---",     "--=x",    "--a",       "--al",
      "--all=1",  "--ac",  "--acc=y",   "--acco", "--jobs", "--jo",    "--jobs=", "--jobs=12", "--js",
      "--j",      "--n",   "--no",      "--nod",  "--node", "--nodes", "--nohe",  "--si",      "--sib",
      "--sib=no", "--zzz", "--zzz=why", "x",      "a b",    "",        "-h",      "=",         "12.0"};
  unsetenv("POSIXLY_CORRECT");
  std::mt19937 random(11);
  for (int round = 0; round < 6000; ++round) {
    std::vector<std::string> words(random() % 5);
    std::string all;
    for (std::string& word : words) all += "[" + (word = pieces[random() % pieces.size()]) + "] ";
    for (const Order order : {Order::kAnywhere, Order::kFirst}) {
      const Read ours = by_us(words, order), its = by_getopt(words, order);
      ASSERT_EQ(ours.text, its.problem.empty() ? its.text : "") << all;
      ASSERT_EQ(ours.problem, its.problem) << all;
    }
  }
}

TEST(Arguments, AnAbbreviationGoesOnToMeanTheOlderOption) {
  constexpr Option kGrown[] = {{.name = "extra-info", .argument = kRequired, .meaning = 0},
                               {.name = "extra", .argument = kRequired, .meaning = 1, .later = true},
                               {.name = "extern", .argument = kNone, .meaning = 2, .later = true},
                               {.name = "segment", .argument = kNone, .meaning = 3, .later = true}};
  const auto meant = [&](const std::string& word) {
    const std::vector<std::string> words = {word};
    const Arguments read = read_arguments(kGrown, words, Order::kFirst);
    return read.problem.empty() ? std::string(kGrown[read.settings.at(0).option].name) : read.problem;
  };
  EXPECT_EQ(meant("--ext=1"), "extra-info");
  EXPECT_EQ(meant("--extra=1"), "extra");  // it is named
  EXPECT_EQ(meant("--exte"), "extern");    // there is no older one
  EXPECT_EQ(meant("--seg"), "segment");
  EXPECT_EQ(meant("--z"), "unrecognized option '--z'");
}

}  // namespace
}  // namespace minke::options
