// Where the tasks of a step go.
#include "engine/embedded/step_layout.h"

#include <gtest/gtest.h>

#include "model/error.h"

namespace minke::engine {
namespace {

rpc::StepSpec tasks(uint32_t count) {
  rpc::StepSpec spec;
  spec.set_ntasks(count);
  return spec;
}

const std::vector<StepNode> kTwoNodes = {{"n1", 4, 0, 1}, {"n2", 4, 0, 1}};

TEST(StepLayout, FillsNodesInOrderAndGivesEachOne) {
  const auto layout = lay_out_step(tasks(5), kTwoNodes, 1);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->task_nodes, (std::vector<size_t>{0, 0, 0, 0, 1}));
  EXPECT_EQ(layout->tasks, (std::vector<uint32_t>{4, 1}));
  EXPECT_EQ(layout->cpus, (std::vector<uint32_t>{4, 4})) << "without --exact the nodes' CPUs are taken whole";
}

TEST(StepLayout, AsTheJobWasLaidOut) {
  const auto layout = lay_out_step(tasks(2), kTwoNodes, 1);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->task_nodes, (std::vector<size_t>{0, 1}));
}

TEST(StepLayout, FewerTasksThanNodesIsSaid) {
  rpc::StepSpec spec = tasks(1);
  spec.set_min_nodes(2);
  const auto layout = lay_out_step(spec, kTwoNodes, 1);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->task_nodes, (std::vector<size_t>{0}));
  EXPECT_EQ(layout->note, "Warning: can't run 1 processes on 2 nodes, setting nnodes to 1");
}

TEST(StepLayout, ExactTakesOnlyWhatItNeeds) {
  rpc::StepSpec spec = tasks(2);
  spec.set_exact(true);
  spec.set_min_nodes(1);
  const auto layout = lay_out_step(spec, kTwoNodes, 1);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->cpus, (std::vector<uint32_t>{2, 0}));
}

TEST(StepLayout, WaitsForOtherStepsUnlessItOverlaps) {
  std::vector<StepNode> busy = {{"n1", 2, 2, 1}};
  const auto waits = lay_out_step(tasks(1), busy, 1);
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().code, model::kNodesBusy);
  rpc::StepSpec overlapping = tasks(1);
  overlapping.set_overlap(true);
  const auto runs = lay_out_step(overlapping, busy, 1);
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->cpus, (std::vector<uint32_t>{0}));
}

TEST(StepLayout, WhatNeverFitsIsRefused) {
  rpc::StepSpec spec = tasks(3);
  spec.set_cpus_per_task(2);
  const auto layout = lay_out_step(spec, {{"n1", 4, 0, 1}}, 1);
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, model::kNodeConfigUnavailable);
  rpc::StepSpec elsewhere = tasks(1);
  elsewhere.set_node_list("n9");
  EXPECT_FALSE(lay_out_step(elsewhere, kTwoNodes, 1));
  EXPECT_FALSE(lay_out_step(tasks(0), kTwoNodes, 1));
}

TEST(StepLayout, TasksPerNodeSpreads) {
  rpc::StepSpec spec;
  spec.set_ntasks_per_node(2);
  const auto layout = lay_out_step(spec, kTwoNodes, 1);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->tasks, (std::vector<uint32_t>{2, 2}));
}

}  // namespace
}  // namespace minke::engine
