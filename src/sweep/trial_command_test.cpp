#include "sweep/trial_command.h"

#include <gtest/gtest.h>

namespace minke::sweep {
namespace {

search::SweepFile file_of(const std::string& more) {
  auto read = search::read_sweep_file(
      "method: grid\nparameters:\n  a: {value: 1}\n  on: {value: true}\n  off: {value: false}\n"
      "  n: {parameters: {b: {value: \"it's\"}}}\n" +
      more);
  EXPECT_TRUE(read) << read.error().message;
  return std::move(*read);
}

Result<std::vector<std::string>> words_of(const search::SweepFile& file) {
  search::Point point(file.plan.space.size(), 0.0);
  return trial_words(file, point, {"/p.json", "/c", "/d", 7, 9},
                     [](const std::string& name) { return name == "X" ? "a b" : ""; });
}

using Words = std::vector<std::string>;

TEST(TrialCommand, HasTheMacrosOfWandb) {
  EXPECT_EQ(*words_of(file_of("program: t.py")), (Words{"/usr/bin/env", "python3", "t.py", "--a=1",
                                                        "--on=True", "--off=False", "--n={'b': \"it's\"}"}));
  EXPECT_EQ(*words_of(file_of("program: ./t")),
            (Words{"/usr/bin/env", "./t", "--a=1", "--on=True", "--off=False", "--n={'b': \"it's\"}"}));
  EXPECT_EQ((*words_of(file_of("program: t")))[1], "./t");
  EXPECT_EQ(*words_of(file_of("command: [x, \"${args_no_hyphens}\"]")),
            (Words{"x", "a=1", "on=True", "off=False", "n={'b': \"it's\"}"}));
  EXPECT_EQ(*words_of(file_of("command: [x, \"${args_no_boolean_flags}\"]")),
            (Words{"x", "--a=1", "--on", "--n={'b': \"it's\"}"}));
  EXPECT_EQ(*words_of(file_of("command: [x, \"${args_flat}\"]")),
            (Words{"x", "--a=1", "--on=True", "--off=False", "--n.b=it's"}));
  EXPECT_EQ(*words_of(file_of("command: [\"-${trial}${budget}-${envvar:X}\", \"${args_json}\", "
                              "\"${args_json_file}\", \"${checkpoint}${directory}\"]")),
            (Words{"-79-a b", R"({"a":1,"on":true,"off":false,"n":{"b":"it's"}})", "/p.json", "/c/d"}));
}

TEST(TrialCommand, TellsWhatItDoesNotKnow) {
  EXPECT_NE(words_of(file_of("command: [\"${what}\"]")).error().message.find("there is no macro ${what}"),
            std::string::npos);
  EXPECT_NE(words_of(file_of("command: [\"x${args}\"]")).error().message.find("a word of its own"),
            std::string::npos);
  EXPECT_FALSE(words_of(file_of("command: [\"${program}\"]")));
  EXPECT_EQ(*words_of(file_of("command: [\"${open\", \"$x\", \"{y}\"]")), (Words{"${open", "$x", "{y}"}));
}

TEST(TrialCommand, TellsTheBudget) {
  const auto file = file_of(
      "program: t.py\nmetric: {name: l}\nearly_terminate: {type: asha, resource: epochs, max_iter: 9}\n");
  EXPECT_EQ(words_of(file)->back(), "--epochs=9");
  search::Point point(4, 0.0);
  EXPECT_EQ(trial_json(file, point, 3), R"({"a":1,"on":true,"off":false,"n":{"b":"it's"},"epochs":3})");
  EXPECT_NE(wandb_parameters(file, point, 3).find("\"wandb_version\": 1"), std::string::npos);
}

}  // namespace
}  // namespace minke::sweep
