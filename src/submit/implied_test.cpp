// Amounts as sbatch 22.05 and its controller compute them.
#include "submit/implied.h"

#include <gtest/gtest.h>

#include <array>

#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"

namespace minke::submit {
namespace {

void add(google::protobuf::RepeatedPtrField<model::Gres>* list, uint32_t count) {
  model::Gres& gres = *list->Add();
  gres.set_name("gpu");
  gres.set_count(count);
}

struct Asked {
  uint32_t nodes = 0, tasks = 0, gpus = 0, per_node = 0, per_task = 0, tasks_per_gpu = 0;
  std::string list = {};
};

// Returns "nodes-most/tasks", or the first line of the refusal.
std::string implied(const Asked& asked) {
  model::JobSpec spec;
  if (asked.nodes != 0) {
    spec.set_min_nodes(asked.nodes);
    spec.set_max_nodes(asked.nodes);
  }
  if (asked.tasks != 0) spec.set_ntasks(asked.tasks);
  if (asked.gpus != 0) add(spec.mutable_gpus(), asked.gpus);
  if (asked.per_node != 0) add(spec.mutable_gres_per_node(), asked.per_node);
  if (asked.per_task != 0) add(spec.mutable_gpus_per_task(), asked.per_task);
  if (asked.tasks_per_gpu != 0) spec.set_ntasks_per_gpu(asked.tasks_per_gpu);
  spec.set_node_list(asked.list);
  if (Status done = imply_amounts(spec); !done)
    return done.error().message.substr(0, done.error().message.find('\n'));
  std::string out = std::to_string(spec.min_nodes());
  return out.append("-")
      .append(std::to_string(spec.max_nodes()))
      .append("/")
      .append(std::to_string(spec.ntasks()));
}

TEST(Implied, TasksAndNodesFromGpus) {
  EXPECT_EQ(implied({.gpus = 2, .per_task = 1}), "0-0/2");
  EXPECT_EQ(implied({.gpus = 2, .tasks_per_gpu = 2}), "0-0/4");
  EXPECT_EQ(implied({.tasks = 3, .gpus = 1, .tasks_per_gpu = 1}), "0-0/1");
  EXPECT_EQ(implied({.nodes = 2, .per_node = 1, .tasks_per_gpu = 2}), "2-2/4");
  EXPECT_EQ(implied({.nodes = 2, .tasks_per_gpu = 2}), "2-2/4");
  EXPECT_EQ(implied({.tasks = 4, .tasks_per_gpu = 2}), "0-0/4");
  EXPECT_EQ(implied({.gpus = 2, .per_node = 1}), "2-2/0");
  EXPECT_EQ(implied({.tasks = 2, .per_task = 1}), "0-0/2");
}

TEST(Implied, TasksOfNodesWithGpusForEachTask) {
  EXPECT_EQ(implied({.nodes = 1, .per_task = 1}), "1-1/1");
  EXPECT_EQ(implied({.nodes = 2, .per_task = 1}), "2-2/2");
  EXPECT_EQ(implied({.nodes = 2, .per_node = 4, .per_task = 2}), "2-2/4");
  EXPECT_EQ(implied({.gpus = 4, .per_node = 2, .per_task = 1}), "2-2/4");
  EXPECT_EQ(implied({.tasks = 4, .per_node = 4, .per_task = 2}), "0-0/4");
}

TEST(Implied, GpusThatContradict) {
  EXPECT_EQ(
      implied({.nodes = 2, .gpus = 4, .per_task = 1}),
      "Failed to validate job spec. Based on --gpus and --gpus-per-task number of requested tasks differ "
      "from -n/--ntasks.");
  EXPECT_EQ(implied({.nodes = 1, .per_node = 3, .per_task = 2}),
            "Failed to validate job spec, --gres=gpu/--gpus-per-node not multiple of --gpus-per-task.");
  EXPECT_EQ(implied({.per_task = 1}),
            "Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not "
            "allowed.");
  EXPECT_EQ(implied({.gpus = 3, .per_task = 2}),
            "Failed to validate job spec, --gpus not multiple of --gpus-per-task");
  EXPECT_EQ(implied({.gpus = 3, .per_node = 2}),
            "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node");
  EXPECT_EQ(implied({.tasks = 2, .gpus = 4, .per_task = 1}),
            "Failed to validate job spec. Based on --gpus and --gpus-per-task number of requested tasks "
            "differ from "
            "-n/--ntasks.");
  EXPECT_EQ(
      implied({.nodes = 2, .gpus = 4, .per_node = 1}),
      "Failed to validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node required nodes (4) doesn't "
      "fall between min_nodes (2) and max_nodes (2) boundaries.");
  EXPECT_EQ(implied({.per_task = 1, .tasks_per_gpu = 2}),
            "fatal: --gpus-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU");
}

TEST(Implied, TasksFromSocketsAndCores) {
  const auto tasks = [](uint32_t nodes, uint32_t sockets, uint32_t cores, Geometry geometry = {},
                        uint32_t threads = 0) {
    model::JobSpec spec;
    if (nodes != 0) spec.set_min_nodes(nodes);
    if (nodes != 0) spec.set_max_nodes(nodes);
    if (sockets != 0) spec.set_sockets_per_node(sockets);
    if (cores != 0) spec.set_cores_per_socket(cores);
    if (threads != 0) spec.set_threads_per_core(threads);
    EXPECT_TRUE(imply_amounts(spec, geometry));
    return spec.ntasks();
  };
  EXPECT_EQ(tasks(2, 0, 4), 8);
  EXPECT_EQ(tasks(2, 1, 2), 4);
  EXPECT_EQ(tasks(1, 2, 0), 2);
  EXPECT_EQ(tasks(0, 1, 2), 0);
  EXPECT_EQ(tasks(0, 0, 4), 0);
  constexpr Geometry kAtOnce{.at_once = true}, kOfSrun{.at_once = true, .needs_all = true};
  EXPECT_EQ(tasks(0, 2, 0, kAtOnce), 2);
  EXPECT_EQ(tasks(0, 2, 4, kAtOnce, 2), 16);
  EXPECT_EQ(tasks(2, 2, 4, kOfSrun), 0);
  EXPECT_EQ(tasks(2, 0, 0, kOfSrun, 2), 0);
  EXPECT_EQ(tasks(0, 2, 4, kOfSrun, 2), 16);
  EXPECT_EQ(tasks(0, 2, 0), 0);
  EXPECT_EQ(tasks(2, 1, 1), 0);
}

TEST(Implied, NodesFromAList) {
  EXPECT_EQ(implied({.list = "n[1-3]"}), "3-0/0");
  EXPECT_EQ(implied({.list = "n1"}), "0-0/0");
  EXPECT_EQ(implied({.list = "n1,n1"}), "0-0/0");
  EXPECT_EQ(implied({.nodes = 4, .list = "n[1-3]"}), "4-4/0");
  EXPECT_EQ(implied({.tasks = 1, .list = "n[1-3]"}), "0-0/1");
  EXPECT_EQ(implied({.nodes = 1, .list = "n[1-2]"}), "invalid number of nodes (-N 2-1)");
}

TEST(Implied, Hints) {
  model::JobSpec spec;
  spec.set_hint("nomultithread");
  ASSERT_TRUE(imply_amounts(spec));
  EXPECT_EQ(spec.threads_per_core(), 1u);
  EXPECT_FALSE(spec.has_cores_per_socket());
  spec.set_threads_per_core(2);
  spec.set_hint("memory_bound");
  ASSERT_TRUE(imply_amounts(spec));
  EXPECT_EQ(spec.threads_per_core() * 10 + spec.cores_per_socket(), 21u);
}

TEST(Implied, SocketsAndCoresSayMoreThanAHint) {
  model::JobSpec spec;
  spec.set_hint("memory_bound");
  spec.set_sockets_per_node(2);
  ASSERT_TRUE(imply_amounts(spec, {.release = kSlurm26}));
  EXPECT_FALSE(spec.has_threads_per_core() || spec.has_cores_per_socket());
}

TEST(Implied, ARangeOfNodesDoesNotCountGpus) {
  model::JobSpec spec;
  spec.set_min_nodes(1);
  spec.set_max_nodes(4);
  spec.set_ntasks_per_gpu(2);
  EXPECT_FALSE(imply_amounts(spec, {.release = kSlurm26}));  // of how many GPUs?
}

TEST(Implied, ThreadsOfNamedNodesAreTasks) {
  model::JobSpec spec;
  spec.set_node_list("n1");
  spec.set_threads_per_core(1);
  add(spec.mutable_gpus_per_task(), 1);
  ASSERT_TRUE(imply_amounts(spec, {.release = kSlurm26}));
  EXPECT_EQ(spec.ntasks(), 1u);
}

TEST(Implied, ArbitraryNeedsHosts) {
  model::JobSpec spec;
  spec.set_distribution("arbitrary");
  EXPECT_FALSE(imply_amounts(spec));
  spec.set_node_list("n1");
  EXPECT_TRUE(imply_amounts(spec));
}

TEST(Implied, TasksPerNodeThatDoNotComeToTheTasks) {
  for (const auto [each, tasks, nodes] : {std::array{2U, 2U, 2U}, {2U, 4U, 2U}, {2U, 5U, 2U}, {1U, 3U, 2U}})
    EXPECT_FALSE(unlike_tasks_per_node(each, tasks, nodes)) << tasks;
  for (const auto [each, tasks, nodes] : {std::array{2U, 3U, 2U}, {2U, 6U, 2U}, {2U, 3U, 1U}, {1U, 4U, 2U}})
    EXPECT_TRUE(unlike_tasks_per_node(each, tasks, nodes)) << tasks;
}

}  // namespace
}  // namespace minke::submit
