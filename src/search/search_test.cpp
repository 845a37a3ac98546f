#include "search/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "search/importance.h"

namespace minke::search {
namespace {

Space line() {
  Space space;
  EXPECT_TRUE(space.add({.name = "x", .distribution = Distribution::kUniform, .low = 0, .high = 1}));
  return space;
}

Plan plan_of(uint64_t trials) {
  Plan plan;
  plan.space = line();
  plan.sampler = {Method::kRandom, 1};
  plan.trials = trials;
  return plan;
}

TEST(EarlyStop, HasTheBracketsOfWandbsDocumentation) {
  // "min_iter: 3" gives 3, 9, 27, 81 …; "max_iter: 27, s: 2" gives 27/eta and 27/eta/eta.
  const auto first = brackets({.min_iter = 3});
  EXPECT_EQ((std::vector<uint64_t>(first.begin(), first.begin() + 4)), (std::vector<uint64_t>{3, 9, 27, 81}));
  EXPECT_EQ(brackets({.max_iter = 27, .s = 2}), (std::vector<uint64_t>{3, 9}));
  EXPECT_FALSE(check(EarlyStop{.max_iter = 27}));
  EXPECT_FALSE(check(EarlyStop{.min_iter = 3, .eta = 1}));
}

TEST(EarlyStop, StopsWhatIsNotAmongTheBestOfItsBracket) {
  for (const bool strict : {false, true}) {
    EarlyStopping stopping({.min_iter = 2, .eta = 3, .strict = strict});
    for (uint64_t trial = 1; trial <= 6; ++trial) stopping.report(trial, 2, static_cast<double>(trial));
    EXPECT_FALSE(stopping.should_stop(1));
    EXPECT_FALSE(stopping.should_stop(2));
    EXPECT_TRUE(stopping.should_stop(3));
    EXPECT_TRUE(stopping.should_stop(6));
    stopping.report(6, 3, 0.5);  // it has become better since
    EXPECT_EQ(stopping.should_stop(6), strict);
    stopping.report(7, 1, 99);  // not so far yet
    EXPECT_FALSE(stopping.should_stop(7));
  }
}

TEST(Halving, GivesTheBestMoreAndCarriesThemOn) {
  Plan plan = plan_of(27);
  plan.halving = Halving{.min = 1, .max = 9, .eta = 3};
  Search search(std::move(plan));
  std::map<uint64_t, size_t> pieces;
  while (const auto next = search.next()) {
    search.restore(*next);
    ++pieces[next->budget];
    search.tell(next->trial, Search::End::kComplete, next->point[0] / static_cast<double>(next->budget));
  }
  EXPECT_EQ(pieces[1], 27u);
  // Asynchronous promotion does not wait for the whole rung: some go on that would not, had it waited.
  EXPECT_GE(pieces[3], 9u);
  EXPECT_LE(pieces[3], 14u);
  EXPECT_GE(pieces[9], 3u);
  EXPECT_LE(pieces[9], 6u);
  EXPECT_TRUE(search.is_done());
  EXPECT_EQ(search.best()->budget, 9u);
  EXPECT_EQ(search.trials().size(), 27u);
}

TEST(Halving, SpreadsTrialsOverHyperbandsBrackets) {
  Halving settings{.min = 1, .max = 9, .eta = 3, .brackets = 3};
  ASSERT_TRUE(check(settings));
  SuccessiveHalving halving(settings);
  std::map<uint64_t, size_t> firsts;
  for (uint64_t trial = 1; trial <= 33; ++trial) {
    const uint64_t budget = halving.first_budget();
    halving.assign(trial, budget);
    ++firsts[budget];
  }
  // Hyperband has 9, 5 and 3 trials there (its paper's table has n = ceil(3 * 3^s / (s + 1))).
  EXPECT_GT(firsts[1], firsts[3]);
  EXPECT_GT(firsts[3], firsts[9]);
  EXPECT_GT(firsts[9], 0u);
  EXPECT_FALSE(check(Halving{.min = 1, .max = 9, .eta = 3, .brackets = 4}));
}

TEST(Halving, DoesNotCarryOnWhatFailed) {
  Plan plan = plan_of(9);
  plan.halving = Halving{.min = 1, .max = 3, .eta = 3};
  Search search(std::move(plan));
  std::set<uint64_t> carried;
  while (const auto next = search.next()) {
    search.restore(*next);
    if (next->budget == 3) carried.insert(next->trial);
    if (next->trial % 2 == 0)
      search.tell(next->trial, Search::End::kFailed, std::nullopt);
    else
      search.tell(next->trial, Search::End::kComplete, 1.0);
  }
  EXPECT_EQ(carried.size(), 3u);
  for (const uint64_t trial : carried) EXPECT_EQ(trial % 2, 1u);
}

TEST(Population, ReplacesTheWorstByTheBest) {
  Plan plan = plan_of(0);
  plan.population = PopulationSettings{.size = 8, .interval = 2, .max = 10, .resample = 0};
  Search search(std::move(plan));
  std::map<uint64_t, double> state;  // what a member has learned
  size_t copies = 0, pieces = 0;
  while (const auto next = search.next()) {
    if (next->source) {
      EXPECT_GT(state[*next->source], state[next->trial]);
      state[next->trial] = state[*next->source];
      ++copies;
    }
    search.restore(*next);
    state[next->trial] += 1 - std::abs(next->point[0] - 0.5);
    search.tell(next->trial, Search::End::kComplete, -state[next->trial]);
    ASSERT_LT(++pieces, 1000u);
  }
  EXPECT_EQ(pieces, 8u * 5);
  EXPECT_EQ(copies, 2u * 4);
  EXPECT_TRUE(search.is_done());
  EXPECT_EQ(search.trials().size(), 8u);
}

TEST(Search, IsTheSameAgainFromItsJournal) {
  Plan plan = plan_of(12);
  plan.sampler.method = Method::kTpe;
  Search one(plan), other(plan);
  for (int i = 0; i < 12; ++i) {
    const auto next = one.next();
    ASSERT_TRUE(next);
    one.restore(*next);
    other.restore(*next);
    if (i % 3 == 2) continue;  // it runs
    const auto end = i % 3 == 0 ? Search::End::kComplete : Search::End::kFailed;
    one.tell(next->trial, end, next->point[0]);
    other.tell(next->trial, end, next->point[0]);
    if (i < 11) {
      EXPECT_EQ(one.next()->point, other.next()->point);
    }
  }
  EXPECT_FALSE(one.next());
  EXPECT_FALSE(one.is_done());
}

TEST(Search, MaximizesAndMeetsItsTarget) {
  Plan plan = plan_of(100);
  plan.goal = Goal::kMaximize;
  plan.target = 0.9;
  Search search(std::move(plan));
  while (const auto next = search.next()) {
    search.restore(*next);
    search.tell(next->trial, Search::End::kComplete, next->point[0]);
  }
  EXPECT_GE(*search.best()->value, 0.9);
  EXPECT_LT(search.trials().size(), 100u);
  for (const auto& [number, trial] : search.trials()) EXPECT_LE(*trial.value, *search.best()->value);
}

TEST(Search, TakesATrialWithoutAFiniteValueForFailed) {
  Search search(plan_of(2));
  const auto next = search.next();
  search.restore(*next);
  search.tell(next->trial, Search::End::kComplete, NAN);
  EXPECT_EQ(search.trials().at(1).fate, Fate::kFailed);
  EXPECT_EQ(search.best(), nullptr);
}

TEST(Importance, IsThatOfTheParameterThatMatters) {
  Space space;
  for (const char* name : {"a", "b", "c"})
    ASSERT_TRUE(space.add({.name = name, .distribution = Distribution::kUniform}));
  std::vector<Observation> history;
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Point point = space.random(random);
    history.push_back({point, 10 * point[1] + point[2]});
  }
  const auto found = importances(space, history, 1);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].parameter, 1u);
  EXPECT_GT(found[0].share, 0.75);
  EXPECT_GT(found[0].correlation, 0.9);
  history.resize(3);
  EXPECT_TRUE(importances(space, history, 1).empty());
}

}  // namespace
}  // namespace minke::search
