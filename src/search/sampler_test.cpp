// Samplers beside published minima: S. Surjanovic and D. Bingham, Virtual Library of Simulation Experiments.
#include "search/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numbers>
#include <set>

#include "search/quantiles.h"
#include "search/sequences.h"

namespace minke::search {
namespace {

using std::numbers::pi;

Space cube(size_t dimensions, double low, double high) {
  Space space;
  for (size_t i = 0; i < dimensions; ++i)
    EXPECT_TRUE(space.add(
        {.name = "x" + std::to_string(i), .distribution = Distribution::kUniform, .low = low, .high = high}));
  return space;
}

double number(const Space& space, const Point& point, size_t i) {
  return std::get<double>(space.value(i, point[i]));
}

double branin(double x, double y) {
  return std::pow(y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6, 2) +
         10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}
constexpr double kBranin = 0.39788735772973816;

double hartmann(const std::array<double, 6>& x) {
  static constexpr double weight[] = {1, 1.2, 3, 3.2};
  static constexpr double slope[4][6] = {
      {10, 3, 17, 3.5, 1.7, 8}, {.05, 10, 17, .1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, .05, 10, .1, 14}};
  static constexpr double middle[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                                          {2329, 4135, 8307, 3736, 1004, 9991},
                                          {2348, 1451, 3522, 2883, 3047, 6650},
                                          {4047, 8828, 8732, 5743, 1091, 381}};
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    double inner = 0;
    for (int j = 0; j < 6; ++j) inner += slope[i][j] * std::pow(x[j] - 1e-4 * middle[i][j], 2);
    sum -= weight[i] * std::exp(-inner);
  }
  return sum;
}
constexpr double kHartmann = -3.32236801141551;

template <typename Function>
double best_of(const Space& space, const Sampler& sampler, uint64_t trials, Function function) {
  std::vector<Observation> history;
  double best = HUGE_VAL;
  for (uint64_t i = 0; i < trials; ++i) {
    const Point point = *suggest(space, sampler, history, i);
    history.push_back({point, function(point)});
    best = std::min(best, history.back().value);
  }
  return best;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

TEST(Functions, HaveTheirPublishedMinima) {
  EXPECT_NEAR(branin(pi, 2.275), kBranin, 1e-9);
  EXPECT_NEAR(branin(-pi, 12.275), kBranin, 1e-9);
  EXPECT_NEAR(hartmann({0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}), kHartmann, 1e-5);
}

TEST(Samplers, FindTheMinimumOfBranin) {
  Space space;
  ASSERT_TRUE(space.add({.name = "x", .distribution = Distribution::kUniform, .low = -5, .high = 10}));
  ASSERT_TRUE(space.add({.name = "y", .distribution = Distribution::kUniform, .low = 0, .high = 15}));
  const auto value = [&](const Point& point) {
    return branin(number(space, point, 0), number(space, point, 1));
  };
  std::vector<double> bayes, tpe, random;
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    bayes.push_back(best_of(space, {Method::kBayes, seed}, 30, value) - kBranin);
    tpe.push_back(best_of(space, {Method::kTpe, seed}, 60, value) - kBranin);
    random.push_back(best_of(space, {Method::kRandom, seed}, 60, value) - kBranin);
  }
  EXPECT_LT(median(bayes), 0.02);
  EXPECT_LT(median(tpe), 0.5 * median(random));
  EXPECT_GE(*std::min_element(bayes.begin(), bayes.end()), -1e-9);
}

TEST(Samplers, FindTheMinimumOfHartmann6) {
  const Space space = cube(6, 0, 1);
  const auto value = [&](const Point& point) {
    std::array<double, 6> x{};
    for (size_t i = 0; i < 6; ++i) x[i] = number(space, point, i);
    return hartmann(x);
  };
  std::vector<double> regrets;
  for (uint64_t seed = 1; seed <= 5; ++seed)
    regrets.push_back(best_of(space, {Method::kBayes, seed}, 60, value) - kHartmann);
  EXPECT_LT(median(regrets), 0.25);
}

TEST(Samplers, AreFunctionsOfSeedAndHistory) {
  const Space space = cube(3, -1, 1);
  std::vector<Observation> history;
  Random random(3);
  for (int i = 0; i < 20; ++i) history.push_back({space.random(random), random.normal()});
  for (const Method method :
       {Method::kRandom, Method::kSobol, Method::kHalton, Method::kTpe, Method::kBayes}) {
    const Sampler sampler{method, 7};
    EXPECT_EQ(*suggest(space, sampler, history, 20), *suggest(space, sampler, history, 20));
    EXPECT_NE(*suggest(space, sampler, history, 20), *suggest(space, Sampler{method, 8}, history, 20));
  }
}

// Trials that run at once are no copies of each other.
TEST(Samplers, SpreadTrialsThatRunAtOnce) {
  const Space space = cube(2, 0, 1);
  for (const Method method : {Method::kTpe, Method::kBayes}) {
    std::vector<Observation> history;
    for (uint64_t i = 0; i < 20; ++i) {
      const Point point = *suggest(space, {Method::kSobol, 1}, history, i);
      history.push_back({point, std::pow(point[0] - 0.3, 2) + std::pow(point[1] - 0.6, 2)});
    }
    for (uint64_t i = 20; i < 28; ++i) history.push_back({*suggest(space, {method, 1}, history, i), NAN});
    for (size_t a = 20; a < history.size(); ++a)
      for (size_t b = a + 1; b < history.size(); ++b) EXPECT_FALSE(same(history[a].point, history[b].point));
  }
}

TEST(Samplers, BearNoiseAndEqualValues) {
  const Space space = cube(2, 0, 1);
  for (const bool equal : {true, false}) {
    std::vector<Observation> history;
    Random noise(1);
    for (uint64_t i = 0; i < 40; ++i)
      history.push_back({*suggest(space, {Method::kBayes, 1}, history, i), equal ? 1.0 : noise.normal()});
    for (const Observation& one : history) EXPECT_TRUE(one.point[0] >= 0 && one.point[0] <= 1);
  }
}

TEST(Samplers, TakeIntegersCategoriesAndConditions) {
  Space space;
  ASSERT_TRUE(space.add({.name = "kind",
                         .distribution = Distribution::kCategorical,
                         .values = {std::string("a"), std::string("b"), true}}));
  ASSERT_TRUE(space.add(
      {.name = "n", .distribution = Distribution::kIntUniform, .low = 1, .high = 5, .whole = true}));
  ASSERT_TRUE(space.add({.name = "m", .distribution = Distribution::kUniform, .conditions = {{0, {1}}}}));
  ASSERT_TRUE(space.add({.name = "same", .distribution = Distribution::kConstant, .values = {int64_t{3}}}));
  const auto value = [&](const Point& point) {
    return (point[0] == 1 ? std::pow(point[2] - 0.7, 2) : 1) +
           std::abs(static_cast<double>(std::get<int64_t>(space.value(1, point[1]))) - 4);
  };
  for (const Method method : {Method::kTpe, Method::kBayes, Method::kSobol}) {
    std::vector<Observation> history;
    for (uint64_t i = 0; i < 40; ++i) {
      const Point point = *suggest(space, {method, 2}, history, i);
      EXPECT_EQ(std::isnan(point[2]), point[0] != 1);
      history.push_back({point, value(point)});
    }
    const auto best = std::min_element(history.begin(), history.end(),
                                       [](const auto& a, const auto& b) { return a.value < b.value; });
    if (method != Method::kSobol) {
      EXPECT_LT(best->value, 0.02) << method_name(method);
    }
  }
}

// A loss that falls without an end draws a search outwards; no random draw is eight deviations away.
TEST(Samplers, StayWhereDistributionsWithoutAnEndHaveTheirValues) {
  for (const Distribution distribution : {Distribution::kNormal, Distribution::kLogNormal}) {
    Space space;
    ASSERT_TRUE(space.add({.name = "x", .distribution = distribution, .mu = 2, .sigma = 0.5}));
    ASSERT_TRUE(space.add({.name = "y", .distribution = Distribution::kUniform, .low = 0, .high = 1}));
    for (const Method method : {Method::kBayes, Method::kTpe}) {
      for (const double sign : {1.0, -1.0}) {
        std::vector<Observation> history;
        double farthest = 0;
        for (uint64_t i = 0; i < 40; ++i) {
          const Point point = *suggest(space, {method, 3}, history, i);
          const double x = number(space, point, 0);
          const double deviations = ((distribution == Distribution::kNormal ? x : std::log(x)) - 2) / 0.5;
          farthest = std::max(farthest, std::abs(deviations));
          history.push_back({point, sign * deviations});
        }
        EXPECT_LT(farthest, 3.2) << method_name(method) << ", " << sign;
        EXPECT_GT(farthest, 1.5) << method_name(method) << ", " << sign;
      }
    }
  }
}

TEST(Grid, GoesThroughAllOnceAndTheLastFastest) {
  Space space;
  ASSERT_TRUE(space.add(
      {.name = "a", .distribution = Distribution::kCategorical, .values = {int64_t{1}, int64_t{2}}}));
  ASSERT_TRUE(
      space.add({.name = "b", .distribution = Distribution::kUniform, .low = 0.1, .high = 0.3, .step = 0.1}));
  ASSERT_TRUE(space.add({.name = "c",
                         .distribution = Distribution::kIntUniform,
                         .low = 7,
                         .high = 8,
                         .whole = true,
                         .conditions = {{0, {0}}}}));
  std::vector<Observation> history;
  std::string all;
  for (uint64_t i = 0; const auto point = suggest(space, {Method::kGrid}, history, i); ++i) {
    history.push_back({*point, 0});
    all += space.json(*point) + "\n";
    ASSERT_LT(i, 100u);
  }
  EXPECT_EQ(history.size(), 2u * 3 + 3);
  EXPECT_TRUE(all.starts_with(
      "{\"a\":1,\"b\":0.1,\"c\":7}\n{\"a\":1,\"b\":0.1,\"c\":8}\n{\"a\":1,\"b\":0.2,\"c\":7}\n"))
      << all;
  EXPECT_NE(all.find("{\"a\":2,\"b\":0.2}"), std::string::npos) << all;
}

// The first points of both sequences, as scipy.stats.qmc gives them without scrambling.
TEST(Sequences, AreThePublishedOnes) {
  EXPECT_EQ(sobol_point(4, 6), (std::vector<double>{0.375, 0.375, 0.625, 0.875, 0.375, 0.125}));
  const auto last = sobol_point(5, kSobolDimensions);
  EXPECT_EQ(last[0], 0.875);
  EXPECT_EQ(last[19], 0.625);
  EXPECT_EQ(last[20], 0.625);
  const auto halton = halton_point(3, 5);
  for (size_t i = 0; const double expected : {0.75, 1.0 / 9, 0.6, 3.0 / 7, 3.0 / 11})
    EXPECT_NEAR(halton[i++], expected, 1e-12);
}

TEST(Sequences, FillEachIntervalOfEachDimensionOnce) {
  for (size_t d = 0; d < kSobolDimensions; ++d) {
    std::set<int> cells;
    for (uint64_t i = 0; i < 64; ++i)
      cells.insert(static_cast<int>(sobol_point(i, kSobolDimensions)[d] * 64));
    EXPECT_EQ(cells.size(), 64u) << d;
  }
}

TEST(Quantiles, AreThoseOfTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_share(1.0), 0.8413447460685429, 1e-12);
  EXPECT_NEAR(beta_quantile(2, 3, beta_share(2, 3, 0.4)), 0.4, 1e-12);
  EXPECT_NEAR(beta_share(2, 2, 0.5), 0.5, 1e-12);
}

// The figure that docs/sweeps.md promises is a second.
TEST(Samplers, ChooseTheNextOfAThousandTrialsSoon) {
  const Space space = cube(8, 0, 1);
  std::vector<Observation> history;
  Random random(5);
  for (int i = 0; i < 999; ++i) {
    const Point point = space.random(random);
    history.push_back({point, std::pow(point[0] - 0.3, 2) + point[1] * point[2]});
  }
  for (const Method method : {Method::kTpe, Method::kBayes}) {
    const auto began = std::chrono::steady_clock::now();
    ASSERT_TRUE(suggest(space, {method, 1}, history, 999));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    EXPECT_LT(seconds, 10) << method_name(method);  // on a machine that does ten other things
  }
}

}  // namespace
}  // namespace minke::search
