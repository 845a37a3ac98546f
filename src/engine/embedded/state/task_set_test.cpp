// TaskSet, checked against a plain set of numbers.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "engine/embedded/state/job.h"
#include "model/job_terms.pb.h"

namespace minke::engine {
namespace {

model::ArraySpec spec_of(std::initializer_list<std::tuple<uint32_t, uint32_t, uint32_t>> ranges) {
  model::ArraySpec spec;
  for (const auto& [first, last, step] : ranges) {
    auto& range = *spec.add_ranges();
    range.set_first(first);
    range.set_last(last);
    range.set_step(step);
  }
  return spec;
}

std::set<uint32_t> expand(const model::ArraySpec& spec) {
  std::set<uint32_t> all;
  for (const auto& range : spec.ranges()) {
    for (uint64_t i = range.first(); i <= range.last(); i += range.step())
      all.insert(static_cast<uint32_t>(i));
  }
  return all;
}

TEST(TaskSet, GivesTheLowestFirst) {
  TaskSet tasks(spec_of({{5, 7, 1}, {0, 8, 4}, {1, 3, 2}}));
  EXPECT_EQ(tasks.size(), 8u);
  std::vector<uint32_t> order;
  while (!tasks.empty()) order.push_back(tasks.pop_first());
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 3, 4, 5, 6, 7, 8}));
}

TEST(TaskSet, TheLastIndexOfAStepNeedNotBeReached) {
  TaskSet tasks(spec_of({{0, 5, 4}}));
  EXPECT_EQ(tasks.size(), 2u);
  EXPECT_TRUE(tasks.contains(4));
  EXPECT_FALSE(tasks.contains(5));
}

TEST(TaskSet, HoldsMillionsWithoutCountingThem) {
  TaskSet tasks(spec_of({{0, 4000000, 1}}));
  EXPECT_EQ(tasks.size(), 4000001u);
  EXPECT_TRUE(tasks.remove(2000000));
  EXPECT_FALSE(tasks.remove(2000000));
  EXPECT_EQ(tasks.size(), 4000000u);
  model::ArraySpec written;
  tasks.write(written);
  EXPECT_EQ(written.ranges_size(), 2);
}

TEST(TaskSet, AnIndexThatIsGivenTwiceIsThereOnce) {
  TaskSet tasks(spec_of({{0, 5, 1}, {3, 8, 1}, {4, 4, 1}, {0, 8, 2}}));
  EXPECT_EQ(tasks.size(), 9u);
  for (uint32_t index = 0; index < 9; ++index) EXPECT_EQ(tasks.pop_first(), index);
  EXPECT_TRUE(tasks.empty());
}

TEST(TaskSet, WhatIsBearable) {
  EXPECT_TRUE(TaskSet::is_bearable(spec_of({{0, 99, 1}, {50, 99, 1}}).ranges(), 100, 150));
  EXPECT_FALSE(TaskSet::is_bearable(spec_of({{0, 99, 1}, {50, 99, 1}}).ranges(), 100, 149));
  EXPECT_FALSE(TaskSet::is_bearable(spec_of({{0, 100, 1}}).ranges(), 100, 1000));
  EXPECT_FALSE(TaskSet::is_bearable(spec_of({{5, 4, 1}}).ranges(), 100, 1000));
}

TEST(TaskSet, TakesOutWhatIsChosen) {
  auto random = [engine = std::mt19937(11)]() mutable { return static_cast<uint32_t>(engine()); };
  const auto any_spec = [&] {
    model::ArraySpec spec;
    for (uint32_t i = random() % 6; i-- > 0;) {
      auto& range = *spec.add_ranges();
      range.set_first(random() % 60);
      range.set_last(range.first() + random() % 30);
      range.set_step(1 + random() % 4);
    }
    return spec;
  };
  for (int round = 0; round < 5000; ++round) {
    const model::ArraySpec own = any_spec(), wanted = any_spec();
    std::set<uint32_t> left = expand(own), taken;
    for (const uint32_t index : expand(wanted))
      if (left.erase(index) == 1) taken.insert(index);
    TaskSet tasks(own);
    TaskSet out = tasks.take(TaskSet(wanted));
    model::ArraySpec written_left, written_taken;
    tasks.write(written_left);
    out.write(written_taken);
    ASSERT_EQ(expand(written_left), left) << round;
    ASSERT_EQ(expand(written_taken), taken) << round;
    ASSERT_EQ(tasks.size(), left.size());
    ASSERT_EQ(out.size(), taken.size());
    tasks.add(out);
    tasks.write(written_left);
    ASSERT_EQ(expand(written_left), expand(own));
    for (uint32_t index = 0; index < 100; ++index)
      ASSERT_EQ(out.contains(index), taken.contains(index)) << index;
  }
}

TEST(TaskSet, ScatteredIndicesOfMillionsAreTakenAtOnce) {
  model::ArraySpec every_other;
  for (uint32_t index = 0; index < 900000; index += 2) {
    auto& range = *every_other.add_ranges();
    range.set_first(index);
    range.set_last(index);
    range.set_step(1);
  }
  TaskSet tasks(spec_of({{0, 3999999, 1}}));
  const TaskSet taken = tasks.take(TaskSet(every_other));
  EXPECT_EQ(taken.size(), 450000u);
  EXPECT_EQ(taken.ranges(), 1u) << "they are a run";
  EXPECT_EQ(tasks.ranges(), 2u);
  EXPECT_EQ(tasks.size(), 3550000u);
}

TEST(TaskSet, AgreesWithASetOfNumbers) {
  auto random = [engine = std::mt19937(7)]() mutable { return static_cast<uint32_t>(engine()); };
  for (int round = 0; round < 300; ++round) {
    // Disjoint ranges, some interleaved by their steps.
    const uint32_t step = 1 + random() % 3;
    model::ArraySpec spec;
    for (uint32_t offset = 0; offset < step; ++offset) {
      auto& range = *spec.add_ranges();
      range.set_first(offset);
      range.set_last(offset + random() % 40);
      range.set_step(step);
    }
    TaskSet tasks(spec);
    std::set<uint32_t> model = expand(spec);
    ASSERT_EQ(tasks.size(), model.size());
    while (!model.empty()) {
      if (random() % 2 == 0) {
        ASSERT_EQ(tasks.first(), *model.begin());
        ASSERT_EQ(tasks.pop_first(), *model.begin());
        model.erase(model.begin());
      } else {
        const uint32_t index = random() % 45;
        ASSERT_EQ(tasks.contains(index), model.contains(index));
        ASSERT_EQ(tasks.remove(index), model.erase(index) == 1);
      }
      model::ArraySpec written;
      tasks.write(written);
      ASSERT_EQ(expand(written), model);
      ASSERT_EQ(tasks.size(), model.size());
    }
    EXPECT_TRUE(tasks.empty());
  }
}

}  // namespace
}  // namespace minke::engine
