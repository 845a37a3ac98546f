#include "search/sweep_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/parameter_words.h"

namespace minke::search {
namespace {

std::string sweep(const std::string& parameters, const std::string& more = "") {
  return "program: train.py\nmethod: random\nmetric: {name: loss}\n" + more + "parameters:\n" + parameters;
}

std::string error_of(const std::string& text) {
  const auto read = read_sweep_file(text);
  return read ? "" : read.error().message;
}

// The example of W&B's documentation, word for word in its structure.
TEST(SweepFile, IsWandbs) {
  const auto read = read_sweep_file(R"(
program: train.py
method: bayes
metric:
  goal: minimize
  name: validation_loss
parameters:
  learning_rate:
    min: 0.0001
    max: 0.1
  optimizer:
    values: ["adam", "sgd"]
  nested_param:
    parameters:
      dropout: {distribution: q_uniform, min: 0.1, max: 0.5, q: 0.1}
      layers: {min: 1, max: 4}
  epochs:
    value: 10
early_terminate: {type: hyperband, min_iter: 3, eta: 2, strict: true}
run_cap: 20
project: my-project
command:
  - ${env}
  - python3
  - ${program}
  - ${args}
)");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->plan.sampler.method, Method::kBayes);
  EXPECT_EQ(read->metric, "validation_loss");
  EXPECT_EQ(read->plan.trials, 20u);
  EXPECT_EQ(read->command.size(), 4u);
  EXPECT_EQ(read->notes.size(), 1u);
  EXPECT_TRUE(read->plan.early_stop->strict);
  const Space& space = read->plan.space;
  ASSERT_EQ(space.size(), 5u);
  EXPECT_EQ(space.parameters()[0].distribution, Distribution::kUniform);
  EXPECT_EQ(space.parameters()[2].name, "nested_param.dropout");
  EXPECT_TRUE(space.parameters()[3].whole);
  Point point(5, 0.0);
  space.snap(point);
  EXPECT_EQ(
      space.json(point),
      R"({"learning_rate":0.0001,"optimizer":"adam","nested_param":{"dropout":0.1,"layers":1},"epochs":10})");
}

// Quantiles of each distribution, worked out from its definition in W&B's documentation.
TEST(SweepFile, HasAllDistributions) {
  const struct {
    const char* text;
    double share, expected;
  } cases[] = {
      {"{distribution: uniform, min: 2, max: 4}", 0.25, 2.5},
      {"{distribution: q_uniform, min: 0, max: 10, q: 2}", 0.33, 4},
      {"{distribution: log_uniform, min: 0, max: 2}", 0.5, std::exp(1.0)},
      {"{distribution: log_uniform_values, min: 0.01, max: 1}", 0.5, 0.1},
      {"{distribution: q_log_uniform, min: 0, max: 4, q: 1}", 0.5, 7},
      {"{distribution: q_log_uniform_values, min: 1, max: 100, q: 5}", 0.5, 10},
      {"{distribution: inv_log_uniform, min: 0, max: 2}", 0.5, std::exp(-1.0)},
      {"{distribution: inv_log_uniform_values, min: 0.01, max: 1}", 0.5, 0.1},
      {"{distribution: normal, mu: 3, sigma: 2}", 0.8413447460685429, 5},
      {"{distribution: q_normal, mu: 3, sigma: 2, q: 0.5}", 0.85, 5},
      {"{distribution: log_normal, mu: 1, sigma: 1}", 0.5, std::exp(1.0)},
      {"{distribution: q_log_normal, mu: 2, sigma: 1, q: 2}", 0.5, 8},
      {"{distribution: beta, a: 2, b: 2}", 0.5, 0.5},
      {"{distribution: q_beta, a: 2, b: 2, q: 0.2}", 0.45, 0.4},
      {"{distribution: int_uniform, min: 1, max: 4}", 0.99, 4},
      {"{min: 1, max: 4}", 0.3, 2},
      {"{min: 1e-5, max: 1}", 0.0, 1e-5},
  };
  for (const auto& one : cases) {
    const auto read = read_sweep_file(sweep(std::string("  x: ") + one.text));
    ASSERT_TRUE(read) << one.text << ": " << read.error().message;
    const Value value = read->plan.space.value(0, one.share);
    const double number = std::holds_alternative<int64_t>(value)
                              ? static_cast<double>(std::get<int64_t>(value))
                              : std::get<double>(value);
    EXPECT_NEAR(number, one.expected, 1e-9) << one.text;
    // Back and forth.
    const double at = read->plan.space.coordinate(0, value);
    EXPECT_EQ(read->plan.space.value(0, at), value) << one.text;
  }
}

TEST(SweepFile, DrawsCategoriesByTheirProbabilities) {
  const auto read = read_sweep_file(sweep("  x: {values: [a, b, c], probabilities: [0.7, 0.0, 0.3]}"));
  ASSERT_TRUE(read) << read.error().message;
  std::array<int, 3> counts{};
  Random random(1);
  for (int i = 0; i < 10000; ++i) ++counts[static_cast<size_t>(read->plan.space.random(random)[0])];
  EXPECT_NEAR(counts[0], 7000, 200);
  EXPECT_EQ(counts[1], 0);
}

TEST(SweepFile, HasConditions) {
  const auto read =
      read_sweep_file(sweep("  o:\n    parameters:\n      m: {min: 0.0, max: 1.0, condition: {kind: sgd}}\n  "
                            "    kind: {values: [adam, sgd]}"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->plan.space.parameters()[0].name, "o.kind");
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const Point point = read->plan.space.random(random);
    EXPECT_EQ(std::isnan(point[1]), point[0] == 0);
  }
}

TEST(SweepFile, TellsTheLineAndWhatToDo) {
  const std::pair<std::string, std::string> cases[] = {
      {sweep("  x: {min: 1, max: 2}", "method2: x\n"), "line 4: unknown key method2; did you mean method?"},
      {"program: a\nmethod: gird\nparameters: {x: {value: 1}}",
       "line 2: there is no method gird; did you mean grid?"},
      {sweep("  x: {min: 2, max: 1}"), "line 5: parameter x: min must be less than max"},
      {sweep("  x: {min: two, max: 3, distribution: uniform}"), "line 5: min of x is no number: two"},
      {sweep("  x: {min: 1}"), "line 5: parameter x: it needs value, values, or min and max"},
      {sweep("  x: {values: [1], condition: {y: 2}}"),
       "line 5: parameter x: its condition names y, which there is not"},
      {sweep("  x: {values: [1, 2], condition: {x: 2}}"),
       "line 5: the condition of parameter x leads back to itself"},
      {sweep("  x: {distribution: unifrom, min: 1, max: 2}"), "did you mean uniform?"},
      {sweep("  x: {distribution: log_uniform, min: 1, max: 1000}"), "log_uniform_values takes values"},
      {sweep("  x: {distribution: log_uniform_values, min: 0, max: 1}"), "begins above 0"},
      {sweep("  x: [1"), "line 6: "},
      {sweep("  x: {value: 1}\n  x: {value: 2}"), "line 6: \"x\" is there already"},
      {sweep("  x: {min: 0.0, max: 1.0}", "early_terminate: {type: hyperband, max_iter: 9}\n"),
       "max_iter needs s"},
      {sweep("  x: {min: 0.0, max: 1.0}", "early_terminate: {type: asha, max_iter: 9}\n"),
       "resource is missing"},
      {"program: a\nmethod: grid\nparameters: {x: {min: 0.0, max: 1.0}}",
       "a grid needs values that can be counted"},
      {"program: a\nmethod: bayes\nparameters: {x: {min: 1, max: 3}}", "metric is missing"},
      {sweep("  x: {value: 1, values: [1]}"),
       "line 5: parameter x: values does not go with distribution constant"},
      {sweep("  x: {values: [1], min: 0}"),
       "line 5: parameter x: min does not go with distribution categorical"},
      {sweep("  x: {distribution: normal, min: 0, max: 1}"),
       "line 5: parameter x: min does not go with distribution normal"},
      {sweep("  x: {min: 0, max: 1, mu: 3, distribution: uniform}"),
       "line 5: parameter x: mu does not go with distribution uniform"},
      {"method: grid\nparameters:\n  y: {value: 1}\n  x: {min: 0.0, max: 1.0}\n",
       "line 4: a grid needs values"},
      {"method: grid\nparameters: {}\n", "line 2: there are no parameters to choose"},
      {sweep("  x: {min: 1, max: 2}", "run_cap: 0\n"), "line 4: run_cap is 1 at least"},
      {sweep("  x: {min: 1, max: 2}", "jobs: 0\n"), "line 4: jobs is 1 at least"},
      {"method:\nparameters: {x: {value: 1}}\n", "line 1: method is empty: grid, random or bayes"},
      {"", "line 1: a sweep file is a mapping"},
      {"a: *b", "line 1: nothing is called &b"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_NE(error_of(text).find(expected), std::string::npos) << text << "\n-> " << error_of(text);
}

TEST(SweepFile, IsBounded) {
  EXPECT_NE(error_of(std::string(2 << 20, 'a')).find("1 MiB"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "[";
  EXPECT_FALSE(error_of(deep).empty());
  std::string laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'l'; ++c) {
    laughs += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) laughs += std::string(i == 0 ? "*" : ", *") + static_cast<char>(c - 1);
    laughs += "]\n";
  }
  EXPECT_NE(error_of(laughs).find("too much"), std::string::npos);
}

TEST(SweepWords, AreASweepFile) {
  const auto text = sweep_text({.parameters = {"lr=log:1e-5..1e-1", "n=int:1..8", "u=q16:16..256",
                                               "o=adam,sgd", "z=normal:0..2", "flag=true,false", "k=x"},
                                .metric = "loss",
                                .goal = "maximize",
                                .method = "bayes",
                                .name = "a \"b\"",
                                .command = {"python", "t.py"}});
  ASSERT_TRUE(text) << text.error().message;
  const auto read = read_sweep_file(*text);
  ASSERT_TRUE(read) << read.error().message << "\n" << *text;
  EXPECT_EQ(read->plan.space.size(), 7u);
  EXPECT_EQ(read->plan.space.parameters()[0].distribution, Distribution::kLogUniform);
  EXPECT_EQ(read->plan.space.parameters()[5].values[0], Value(true));
  EXPECT_EQ(read->command.back(), "${args}");
  EXPECT_EQ(read->name, "a \"b\"");
  for (const char* wrong : {"lr", "=1", "lr=log:1..x", "lr=lag:1..2"})
    EXPECT_FALSE(sweep_text({.parameters = {wrong}, .command = {"x"}})) << wrong;
  EXPECT_FALSE(sweep_text({.parameters = {"a=1"}}));
}

TEST(Value, IsWrittenAsPythonAndJson) {
  EXPECT_EQ(python_text(true), "True");
  EXPECT_EQ(python_text(1.0), "1.0");
  EXPECT_EQ(python_text(1e-5), "1e-05");
  EXPECT_EQ(python_text(std::string("it's")), "it's");
  EXPECT_EQ(python_literal(std::string("it's")), "\"it's\"");
  EXPECT_EQ(python_text(Compound{R"({"a": [1, true, null, "x"]})"}), "{'a': [1, True, None, 'x']}");
  EXPECT_EQ(json_of(std::string("a\"b")), "\"a\\\"b\"");
  EXPECT_EQ(json_of(std::monostate{}), "null");
}

}  // namespace
}  // namespace minke::search
