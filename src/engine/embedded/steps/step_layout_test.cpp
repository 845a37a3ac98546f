// The placement of a step's tasks.
#include "engine/embedded/steps/step_layout.h"

#include <gtest/gtest.h>

#include "api/steps.pb.h"
#include "model/error.h"
#include "model/job_terms.pb.h"

namespace minke::engine {
namespace {

api::StepSpec tasks(uint32_t count) {
  api::StepSpec spec;
  spec.set_ntasks(count);
  return spec;
}

const std::vector<StepNode> kTwoNodes = {{"n1", 4, 0, 1}, {"n2", 4, 0, 1}};

TEST(StepLayout, BlocksAreAsLargeAsIfTasksWereDealtOut) {
  const auto layout = lay_out_step(tasks(5), kTwoNodes);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->task_nodes, (std::vector<size_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(layout->tasks, (std::vector<uint32_t>{3, 2}));
  EXPECT_EQ(layout->cpus, (std::vector<uint32_t>{4, 4})) << "without --exact the nodes' CPUs are taken whole";
}

TEST(StepLayout, AsTheJobWasLaidOut) {
  const auto layout = lay_out_step(tasks(2), kTwoNodes);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->task_nodes, (std::vector<size_t>{0, 1}));
}

TEST(StepLayout, FewerTasksThanNodesIsSaid) {
  api::StepSpec spec = tasks(1);
  spec.set_min_nodes(2);
  const auto layout = lay_out_step(spec, kTwoNodes);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->task_nodes, (std::vector<size_t>{0}));
  EXPECT_EQ(layout->note, "Warning: can't run 1 processes on 2 nodes, setting nnodes to 1");
}

TEST(StepLayout, ExactTakesOnlyWhatItNeeds) {
  api::StepSpec spec = tasks(2);
  spec.set_exact(true);
  spec.set_min_nodes(1);
  const auto layout = lay_out_step(spec, kTwoNodes);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->cpus, (std::vector<uint32_t>{2, 0}));
}

TEST(StepLayout, WaitsForOtherStepsUnlessItOverlaps) {
  std::vector<StepNode> busy = {{"n1", 2, 2, 1}};
  const auto waits = lay_out_step(tasks(1), busy);
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().code, model::kNodesBusy);
  api::StepSpec overlapping = tasks(1);
  overlapping.set_overlap(true);
  const auto runs = lay_out_step(overlapping, busy);
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->cpus, (std::vector<uint32_t>{0}));
}

TEST(StepLayout, WhatNeverFitsIsRefused) {
  api::StepSpec spec = tasks(3);
  spec.set_cpus_per_task(2);
  const auto layout = lay_out_step(spec, {{"n1", 4, 0, 1}});
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, model::kTooManyCpus);
  api::StepSpec elsewhere = tasks(1);
  elsewhere.set_node_list("n9");
  EXPECT_FALSE(lay_out_step(elsewhere, kTwoNodes));
  EXPECT_FALSE(lay_out_step(tasks(0), kTwoNodes));
}

TEST(StepLayout, TasksPerNodeSpreads) {
  api::StepSpec spec;
  spec.set_ntasks_per_node(2);
  const auto layout = lay_out_step(spec, kTwoNodes);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->tasks, (std::vector<uint32_t>{2, 2}));
}

TEST(StepLayout, Distributions) {
  const auto ranks = [](const char* distribution, uint32_t count) {
    api::StepSpec spec = tasks(count);
    spec.set_distribution(distribution);
    return lay_out_step(spec, kTwoNodes)->task_nodes;
  };
  EXPECT_EQ(ranks("cyclic", 4), (std::vector<size_t>{0, 1, 0, 1}));
  EXPECT_EQ(ranks("cyclic:block", 3), (std::vector<size_t>{0, 1, 0}));
  EXPECT_EQ(ranks("plane=2", 6), (std::vector<size_t>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(ranks("block:cyclic", 5), (std::vector<size_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(ranks("pack", 5), (std::vector<size_t>{0, 0, 0, 0, 1}));
  api::StepSpec spec;
  spec.set_distribution("arbitrary");
  spec.set_node_list("n2,n1,n2");
  EXPECT_EQ(lay_out_step(spec, kTwoNodes)->task_nodes, (std::vector<size_t>{1, 0, 1}));
  spec.set_ntasks(5);
  EXPECT_FALSE(lay_out_step(spec, kTwoNodes));
}

TEST(StepLayout, ChoosesNodes) {
  const auto first = [](auto set) {
    api::StepSpec spec = tasks(1);
    set(spec);
    return lay_out_step(spec, kTwoNodes)->task_nodes;
  };
  EXPECT_EQ(first([](auto& spec) { spec.set_relative_node(1); }), (std::vector<size_t>{1}));
  EXPECT_EQ(first([](auto& spec) { spec.set_exclude("n1"); }), (std::vector<size_t>{1}));
  EXPECT_EQ(first([](auto& spec) { spec.set_node_list("n2"); }), (std::vector<size_t>{1}));
  api::StepSpec both = tasks(2);
  both.set_node_list("n2");
  both.set_min_nodes(2);  // one more than was named
  EXPECT_EQ(lay_out_step(both, kTwoNodes)->task_nodes, (std::vector<size_t>{0, 1}));
}

TEST(StepLayout, CountsMemory) {
  std::vector<StepNode> node = {{"n1", 4, 1, 1, 1000, 600}};
  api::StepSpec spec = tasks(1);
  spec.set_exact(true);
  spec.set_mem_per_node_mib(500);
  EXPECT_EQ(lay_out_step(spec, node).error().code, model::kNodesBusy);
  spec.set_mem_per_node_mib(400);
  EXPECT_EQ(lay_out_step(spec, node)->memory_mib, (std::vector<uint64_t>{400}));
  spec.set_mem_per_node_mib(1001);
  EXPECT_EQ(lay_out_step(spec, node).error().code, model::kInvalidTaskMemory);
  spec.set_mem_per_node_mib(0);
  EXPECT_EQ(lay_out_step(spec, node)->memory_mib, (std::vector<uint64_t>{0}));
}

TEST(StepLayout, GivesGpusOfTheJob) {
  using Gpus = std::vector<std::vector<uint32_t>>;
  std::vector<StepNode> nodes = {{"n1", 4, 0, 1, 0, 0, {0, 1}, {0}}, {"n2", 4, 0, 1, 0, 0, {2, 3}, {}}};
  api::StepSpec spec = tasks(2);
  EXPECT_EQ(lay_out_step(spec, nodes)->gpus, (Gpus{{0, 1}, {2, 3}}))
      << "all of them, where none are asked for";
  const auto add = [](auto* list, uint32_t count) {
    model::Gres& gres = *list->Add();
    gres.set_name("gpu");
    gres.set_count(count);
  };
  api::StepSpec per_node = spec;
  add(per_node.mutable_gres_per_node(), 1);
  EXPECT_EQ(lay_out_step(per_node, nodes)->gpus, (Gpus{{1}, {2}})) << "those that no other step holds";
  add(per_node.mutable_gres_per_node(), 1);
  EXPECT_EQ(lay_out_step(per_node, nodes).error().code, model::kNodesBusy);
  api::StepSpec per_task = tasks(3);
  add(per_task.mutable_gpus_per_task(), 1);
  EXPECT_EQ(lay_out_step(per_task, nodes)->gpus, (Gpus{{1}, {2, 3}}));
  api::StepSpec in_all = spec;
  add(in_all.mutable_gpus(), 2);
  EXPECT_EQ(lay_out_step(in_all, nodes)->gpus, (Gpus{{1}, {2}}));
  add(in_all.mutable_gpus(), 9);
  EXPECT_EQ(lay_out_step(in_all, nodes).error().code, model::kInsufficientGres);
  spec.set_no_gres(true);
  EXPECT_EQ(lay_out_step(spec, nodes)->gpus, (Gpus{{}, {}}));
}

TEST(StepLayout, TakesOtherGresThatNoStepHolds) {
  const std::vector<StepNode> nodes = {
      {.name = "n1", .cpus = 4, .tasks = 1, .gres = {{"nic", "", 3, 1}}},
      {.name = "n2", .cpus = 4, .tasks = 1, .gres = {{"nic", "a", 1, 0}, {"nic", "b", 2, 0}}}};
  const auto layout = [&](uint32_t per_node, uint32_t per_task, const std::string& type, bool overlap) {
    api::StepSpec spec = tasks(2);
    const auto add = [&](auto* list, uint32_t count) {
      model::Gres& gres = *list->Add();
      gres.set_name("nic");
      gres.set_type(type);
      gres.set_count(count);
    };
    if (per_node != 0) add(spec.mutable_gres_per_node(), per_node);
    if (per_task != 0) add(spec.mutable_gpus_per_task(), per_task);
    spec.set_overlap(overlap);
    return lay_out_step(spec, nodes);
  };
  EXPECT_EQ(layout(2, 0, "", false)->gres[0][0].count, 2u);
  EXPECT_EQ(layout(2, 0, "", false)->gres[1][0].type, "a");
  EXPECT_EQ(layout(2, 0, "", false)->gres[1][1].count, 1u);
  EXPECT_FALSE(layout(2, 0, "", false)->holds_gpus);
  EXPECT_EQ(layout(3, 0, "", false).error().code, model::kNodesBusy);
  EXPECT_EQ(layout(3, 0, "", true)->gres[0][0].count, 3u);
  EXPECT_EQ(layout(4, 0, "", false).error().code, model::kInvalidGres);
  EXPECT_EQ(layout(0, 2, "", false)->gres[1][1].count, 1u);
  EXPECT_EQ(layout(0, 4, "", false).error().code, model::kInvalidGres);
  EXPECT_EQ(layout(1, 0, "c", false).error().code, model::kInvalidGres);
}

TEST(StepLayout, AnUnevenJobTakesWhatItsCpusServeInAll) {
  const std::vector<StepNode> uneven = {{"n1", 4, 0, 4, 0, 0, {}, {}}, {"n2", 2, 0, 2, 0, 0, {}, {}}};
  api::StepSpec wide = tasks(2);
  wide.set_cpus_per_task(3);
  EXPECT_EQ(lay_out_step(wide, uneven)->tasks, (std::vector<uint32_t>{1, 1}));
  wide.set_cpus_per_task(4);
  EXPECT_EQ(lay_out_step(wide, uneven).error().code, model::kTooManyCpus);
  api::StepSpec even = tasks(6);
  even.set_ntasks_per_node(3);
  EXPECT_EQ(lay_out_step(even, uneven)->tasks, (std::vector<uint32_t>{4, 2}));
}

TEST(StepLayout, GpusThatTheJobHasNotAreNoneOfIts) {
  const std::vector<StepNode> nodes = {{"n1", 4, 0, 1, 0, 0, {}, {}}};
  api::StepSpec spec = tasks(1);
  model::Gres& gres = *spec.add_gres_per_node();
  gres.set_name("gpu");
  gres.set_count(1);
  EXPECT_EQ(lay_out_step(spec, nodes).error().code, model::kInvalidGres);
}

TEST(StepLayout, MoreTasksThanProcessorsWhereThatIsWanted) {
  api::StepSpec spec = tasks(10);
  EXPECT_EQ(lay_out_step(spec, kTwoNodes).error().code, model::kTooManyCpus);
  spec.set_overcommit(true);
  EXPECT_EQ(lay_out_step(spec, kTwoNodes)->tasks, (std::vector<uint32_t>{5, 5}));
  const std::vector<StepNode> unlike = {{"n1", 6, 0, 1, 0, 0, {}, {}}, {"n2", 2, 0, 1, 0, 0, {}, {}}};
  EXPECT_EQ(lay_out_step(spec, unlike)->tasks, (std::vector<uint32_t>{7, 3}))
      << "first those that share none";
}

TEST(StepLayout, TasksThatShareCpusAreBounded) {
  for (const uint32_t count : {1025u, 8193u, 100000u, UINT32_MAX}) {
    api::StepSpec spec = tasks(count);
    spec.set_overlap(true);
    EXPECT_FALSE(lay_out_step(spec, kTwoNodes)) << count;
    spec.set_overlap(false);
    spec.set_overcommit(true);
    EXPECT_FALSE(lay_out_step(spec, kTwoNodes)) << count;
  }
  api::StepSpec spec = tasks(1024);
  spec.set_overlap(true);
  const auto layout = lay_out_step(spec, kTwoNodes);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->tasks, (std::vector<uint32_t>{512, 512}));
  spec.clear_ntasks();
  spec.set_ntasks_per_node(UINT32_MAX);
  EXPECT_FALSE(lay_out_step(spec, kTwoNodes));
}

}  // namespace
}  // namespace minke::engine
