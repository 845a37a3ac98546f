#include "environment/step_gpus.h"

#include <gtest/gtest.h>

#include "api/steps.pb.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"

namespace minke::environment {
namespace {

using Gpus = std::vector<uint32_t>;
const Gpus kFour = {4, 5, 6, 7};

Gpus bound(const char* bind, uint32_t local_id) {
  api::StepSpec spec;
  spec.set_gpu_bind(bind);
  return gpus_of_task(spec, kFour, local_id);
}

TEST(StepGpus, AllAreSeenUnlessTheStepAsksOtherwise) {
  EXPECT_EQ(bound("", 3), kFour);
  EXPECT_EQ(bound("closest", 3), kFour);
  EXPECT_EQ(bound("none", 3), kFour);
}

TEST(StepGpus, Binding) {
  EXPECT_EQ(bound("single:2", 1), (Gpus{4}));
  EXPECT_EQ(bound("verbose,single:2", 2), (Gpus{5}));
  EXPECT_EQ(bound("per_task:2", 1), (Gpus{6, 7}));
  EXPECT_EQ(bound("map_gpu:3,0", 0), (Gpus{7}));
  EXPECT_EQ(bound("map_gpu:3,0", 1), (Gpus{4}));
  EXPECT_EQ(bound("mask_gpu:0x3,0xc", 1), (Gpus{6, 7}));
}

TEST(StepGpus, APartForEachTask) {
  api::StepSpec spec;
  model::Gres& gres = *spec.add_gpus_per_task();
  gres.set_name("gpu");
  gres.set_count(2);
  EXPECT_EQ(gpus_of_task(spec, kFour, 1), (Gpus{6, 7}));
  api::StepSpec shared;
  shared.set_ntasks_per_gpu(2);
  EXPECT_EQ(gpus_of_task(shared, kFour, 3), (Gpus{5}));
}

TEST(StepGpus, WhatAJobOfWholeNodesAskedFor) {
  google::protobuf::RepeatedPtrField<model::NodeAllocation> nodes;
  for (const uint32_t tasks : {2U, 1U}) {
    model::NodeAllocation& node = *nodes.Add();
    node.set_tasks(tasks);
    model::GresAllocation& gres = *node.add_gres();
    gres.set_name("gpu");
    for (uint32_t i = 0; i < 4; ++i) gres.add_indices(i);
  }
  using List = google::protobuf::RepeatedPtrField<model::Gres>* (model::JobSpec::*)();
  const auto asked = [&](List list, uint32_t count) {
    model::JobSpec spec;
    model::Gres& gres = *(spec.*list)()->Add();
    gres.set_name("gpu");
    gres.set_count(count);
    return gpus_by_default(spec, nodes);
  };
  EXPECT_EQ(gpus_by_default({}, nodes), (Gpus{0, 0}));
  EXPECT_EQ(asked(&model::JobSpec::mutable_gres_per_node, 3), (Gpus{3, 3}));
  EXPECT_EQ(asked(&model::JobSpec::mutable_gpus_per_task, 1), (Gpus{2, 1}));
  EXPECT_EQ(asked(&model::JobSpec::mutable_gpus, 5), (Gpus{4, 1}));
  EXPECT_EQ(asked(&model::JobSpec::mutable_gpus, 2), (Gpus{1, 1}));
  model::JobSpec by_socket;
  by_socket.set_sockets_per_node(2);
  model::Gres& of_socket = *by_socket.add_gpus_per_socket();
  of_socket.set_name("gpu");
  of_socket.set_count(1);
  EXPECT_EQ(gpus_by_default(by_socket, nodes), (Gpus{2, 2}));
}

TEST(StepGpus, BindingIsTold) {
  EXPECT_TRUE(tells_gpu_binding("verbose,single:1") && tells_gpu_binding("v,none"));
  EXPECT_FALSE(tells_gpu_binding("single:1"));
  EXPECT_EQ(gpu_binding_text({1}, {0, 1}, "0"),
            "usable_gres=0x2; bit_alloc=0x3; local_inx=0; global_list=1; local_list=0");
}

}  // namespace
}  // namespace minke::environment
