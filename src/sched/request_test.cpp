#include "sched/request.h"

#include <gtest/gtest.h>

#include "model/cluster.pb.h"
#include "model/job_spec.pb.h"
#include "sched/constraint.h"
#include "sched/make_request.h"
#include "sched/test_cluster.h"

namespace minke::sched {
namespace {

// Three small nodes, of which two have GPUs.
class MakeRequest : public ::testing::Test {
 protected:
  MakeRequest() : machine_(make_machine()) {
    partition_.set_name("debug");
    partition_.set_max_time_minutes(kUnlimited);
    partition_.set_max_nodes(kUnlimited);
  }
  static Machine make_machine() {
    std::vector<model::NodeRecord> nodes{
        testing::make_node("c0", 8, 24000),
        testing::make_node("g0", 8, 16384, {testing::make_gres("a100", 2)}),
        testing::make_node("g1", 8, 16384, {testing::make_gres("a100", 2), testing::make_gres("h100", 2)}),
        testing::make_node("far", 64, 512000)};
    nodes[1].add_features("gpu");
    nodes[2].add_features("gpu");
    nodes[2].add_features("fast");
    nodes[3].add_features("slow");
    const std::vector<PartitionNodes> partitions{{"debug", {"c0", "g0", "g1"}}, {"other", {"far"}}};
    return Machine::build(nodes, partitions).value();
  }
  Result<Request> make(const NodeNames& names = {}) {
    return make_request(spec_, partition_, machine_, names);
  }
  Request made(const NodeNames& names = {}) {
    const auto request = make(names);
    EXPECT_TRUE(request) << (request ? "" : request.error().message);
    return request.value_or(Request{});
  }
  void expect_error(int code, const std::string& message, const NodeNames& names = {}) {
    const auto request = make(names);
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code, code);
    EXPECT_EQ(request.error().message, message);
  }

  Machine machine_;
  model::PartitionRecord partition_;
  model::JobSpec spec_;
};

TEST_F(MakeRequest, AsksForOneCpuOnOneNodeWhereNothingIsSaid) {
  const Request request = made();
  Request expected;
  EXPECT_EQ(request, expected);
}

TEST_F(MakeRequest, EqualRequestsAreTriedOnceWhateverTheirTimeLimits) {
  PossibleRequests possible;
  const auto make_in = [&](uint32_t cpus, uint32_t minutes) {
    spec_.set_cpus_per_task(cpus);
    return make_request(spec_, partition_, machine_, minutes, &possible);
  };
  for (const uint32_t minutes : {10u, 20u, 10u}) {
    const auto fits = make_in(8, minutes), too_large = make_in(9, minutes);
    ASSERT_TRUE(fits);
    EXPECT_EQ(fits->time_limit_minutes, minutes);
    ASSERT_FALSE(too_large);
    EXPECT_EQ(too_large.error().code, 2014);
  }
}

TEST_F(MakeRequest, NodesThatAreNamedOncePerTaskHaveTheCpusOfTheMost) {
  spec_.set_ntasks(3);
  spec_.set_cpus_per_task(2);
  const NodeNames names{{"g0", "c0", "g0"}, {}};
  EXPECT_EQ(made(names).min_cpus_per_node, 1u);
  spec_.set_distribution("Arbitrary");
  EXPECT_EQ(made(names).min_cpus_per_node, 4u);
  spec_.set_overcommit(true);
  EXPECT_EQ(made(names).min_cpus_per_node, 1u);
}

TEST_F(MakeRequest, MemoryBeyondEveryNode) {
  spec_.set_mem_per_node_mib(10ull * 1024 * 1024);
  expect_error(2014, "--mem=10T: the largest node of partition debug has 24000M");
  spec_.clear_mem_per_node_mib();
  spec_.set_mem_per_cpu_mib(4096);
  spec_.set_cpus_per_task(8);
  expect_error(2014, "--mem-per-cpu=4G with 8 CPUs: the largest node of partition debug has 24000M");
  spec_.clear_mem_per_cpu_mib();
  spec_.set_mem_per_node_mib(std::uint64_t{1} << 60);
  EXPECT_EQ(make().error().code, 2014);
  spec_.clear_mem_per_node_mib();
  spec_.set_tmp_mib(std::uint64_t{1} << 60);
  expect_error(2014, "--tmp=1073741824P is out of range");
}

TEST_F(MakeRequest, CpusBeyondEveryNode) {
  spec_.set_cpus_per_task(9);
  expect_error(2014, "--cpus-per-task=9: the largest node of partition debug has 8 CPUs");
  spec_.set_cpus_per_task(4);
  spec_.set_ntasks_per_node(3);
  expect_error(2014,
               "--ntasks-per-node=3 with --cpus-per-task=4: the largest node of partition debug has 8 CPUs");
  spec_.set_cpus_per_task(4000000000u);
  EXPECT_EQ(make().error().code, 2005);
  spec_.set_cpus_per_task(0);
  EXPECT_EQ(make().error().code, 2069);
}

TEST_F(MakeRequest, TooManyNodesOrTasks) {
  spec_.set_min_nodes(4);
  expect_error(2006, "--nodes=4: partition debug has 3 nodes that could serve this request");
  spec_.set_min_nodes(100);  // each has a processor at least
  expect_error(2005, "--nodes=100: partition debug has 3 nodes that could serve this request");
  spec_.set_min_nodes(1);
  spec_.set_ntasks(9);
  expect_error(2014, "--ntasks=9: partition debug has no room for so many on 1 of its nodes");
  spec_.clear_min_nodes();
  spec_.set_ntasks(25);
  expect_error(2005, "--ntasks=25: partition debug has no room for so many");
  spec_.set_ntasks(24);
  EXPECT_EQ(made().max_nodes, 3u);
  spec_.set_ntasks(0);
  EXPECT_EQ(make().error().code, 2025);
}

TEST_F(MakeRequest, GresThatIsNotThere) {
  *spec_.add_gres_per_node() = testing::make_gres("", 5);
  expect_error(2014, "gpu:5 on one node: the most that a node of partition debug has is 4");
  *spec_.mutable_gres_per_node(0) = testing::make_gres("v100", 1);
  expect_error(2014, "gpu:v100: no node has this type; there is gpu:a100, gpu:h100");
  *spec_.mutable_gres_per_node(0) = testing::make_gres("", 1, "tape");
  expect_error(2072, "tape: no node has this GRES");
  *spec_.mutable_gres_per_node(0) = testing::make_gres("a100", 2);
  spec_.set_mem_per_node_mib(20000);
  expect_error(2014, "no single node of partition debug has all that is asked for at once");
  spec_.clear_gres_per_node();
  spec_.clear_mem_per_node_mib();
  *spec_.add_gpus() = testing::make_gres("", 7);
  expect_error(2014, "gpu:7: partition debug has no room for so many");
  partition_.set_name("other");
  spec_.mutable_gpus(0)->set_count(1);
  expect_error(2014, "gpu:1: no node of partition other has any");
}

TEST_F(MakeRequest, TimeLimits) {
  partition_.set_max_time_minutes(60);
  EXPECT_EQ(made().time_limit_minutes, 60u);
  partition_.set_default_time_minutes(10);
  EXPECT_EQ(made().time_limit_minutes, 10u);
  spec_.set_time_limit_minutes(60);
  EXPECT_EQ(made().time_limit_minutes, 60u);
  spec_.set_time_limit_minutes(61);
  expect_error(2051, "--time=61 min: partition debug allows at most 60 min");
  spec_.set_time_limit_minutes(0);  // no limit
  expect_error(2051, "--time=UNLIMITED: partition debug allows at most 60 min");
  partition_.set_max_time_minutes(kUnlimited);
  EXPECT_EQ(made().time_limit_minutes, kUnlimited);
}

TEST_F(MakeRequest, NodeNames) {
  spec_.set_node_list("g1");
  EXPECT_EQ(made({{"g1"}, {"c0"}}).required, std::vector<NodeId>{2});
  expect_error(2018, "--nodelist: there is no node x", {{"x"}, {}});
  expect_error(2018, "--exclude: there is no node x", {{"g1"}, {"x"}});
  expect_error(2004, "--nodelist: node far is not in partition debug", {{"far"}, {}});
  expect_error(2018, "node g1 is in --nodelist and in --exclude", {{"g1"}, {"g1"}});
  expect_error(2018, "--nodelist=g1 names no node");
  EXPECT_EQ(made({{"g1", "g0", "g1"}, {}}).min_nodes, 2u);
  spec_.set_min_nodes(1);
  // More names than nodes: one of them.
  EXPECT_TRUE(made({{"g0", "g1"}, {}}).required.empty());
  EXPECT_FALSE(made({{"g0", "g1"}, {}}).excluded.empty());
  spec_.clear_min_nodes();
  spec_.set_ntasks(1);
  expect_error(2025, "--ntasks=1 leaves nodes that are asked for without a task", {{"g0", "g1"}, {}});
  spec_.clear_ntasks();
  spec_.clear_node_list();
  expect_error(2014, "no node of partition debug is left to choose from", {{}, {"c0", "g0", "g1"}});
}

TEST_F(MakeRequest, Constraints) {
  spec_.set_constraint("gpu&slow");
  expect_error(2014, "--constraint=gpu&slow: no node of partition debug has these features");
  spec_.set_constraint("gpu&nothing");
  expect_error(2029, "--constraint=gpu&nothing: no node has the feature nothing");
  spec_.set_constraint("gpu,(fast|slow)");
  EXPECT_EQ(machine_.place(made())->nodes[0].node, 2u);
}

TEST_F(MakeRequest, NumbersOfNodesAndTasks) {
  spec_.set_min_nodes(2);
  Request request = made();
  EXPECT_EQ(request.min_nodes, 2u);
  EXPECT_EQ(request.max_nodes, 2u);
  EXPECT_FALSE(request.as_many_nodes);
  spec_.set_max_nodes(3);
  EXPECT_TRUE(made().as_many_nodes);
  spec_.set_ntasks(1);  // sbatch warns, and uses one node
  EXPECT_EQ(made().max_nodes, 1u);
  spec_.clear_min_nodes();
  spec_.clear_max_nodes();
  spec_.set_ntasks(5);
  spec_.set_ntasks_per_node(2);
  request = made();
  EXPECT_EQ(request.min_nodes, 3u);
  EXPECT_EQ(request.tasks, 5u);
  partition_.set_max_nodes(2);
  expect_error(2006, "--nodes=3: partition debug allows at most 2");
}

TEST_F(MakeRequest, GpuCountsBindOneAnother) {
  *spec_.add_gpus() = testing::make_gres("a100", 4);
  *spec_.add_gpus_per_task() = testing::make_gres("", 2);
  Request request = made();
  EXPECT_EQ(request.tasks, 2u);
  EXPECT_EQ(request.gres, (std::vector<GresDemand>{{0, 0, 0, 2, 0}}));  // the type goes with it
  spec_.set_ntasks(3);
  expect_error(2072, "--gpus=4 contradicts 3 tasks with --gpus-per-task=2");
  spec_.clear_ntasks();
  spec_.clear_gpus_per_task();
  *spec_.add_gres_per_node() = testing::make_gres("", 2);
  request = made();
  EXPECT_EQ(request.min_nodes, 2u);
  EXPECT_EQ(request.max_nodes, 2u);
  spec_.clear_gpus();
  *spec_.add_gpus_per_task() = testing::make_gres("", 1);
  request = made();  // two GPUs on a node, one for each task
  EXPECT_EQ(request.tasks_per_node, 2u);
  EXPECT_EQ(request.gres, (std::vector<GresDemand>{{0, kAnyKind, 0, 1, 0}}));
  spec_.clear_gpus_per_task();
  spec_.clear_gres_per_node();
  spec_.set_ntasks(4);
  spec_.set_ntasks_per_gpu(2);
  EXPECT_EQ(made().gres, (std::vector<GresDemand>{{0, kAnyKind, 0, 0, 2}}));
}

TEST_F(MakeRequest, MemoryDefaults) {
  partition_.set_default_mem_per_cpu_mib(1000);
  EXPECT_EQ(made().memory, MemoryDemand::kPerCpu);
  spec_.set_mem_per_node_mib(0);
  EXPECT_EQ(made().memory, MemoryDemand::kWholeNode);
  spec_.set_mem_per_node_mib(5);
  EXPECT_EQ(made().memory, MemoryDemand::kPerNode);
  partition_.set_oversubscribe("EXCLUSIVE");
  EXPECT_TRUE(made().exclusive);
}

TEST_F(MakeRequest, AnUnknownPartition) {
  partition_.set_name("nowhere");
  expect_error(2000, "there is no partition nowhere");
}

TEST_F(MakeRequest, GpusOnEachSocketNeedANumberOfSockets) {
  *spec_.add_gpus_per_socket() = testing::make_gres("", 1);
  EXPECT_EQ(make().error().code, 2072);
  spec_.set_sockets_per_node(1);
  EXPECT_EQ(made().gres.at(0).per_node, 1u);
}

TEST_F(MakeRequest, NodesWithFewerSocketsAreAsGoodAsExcluded) {
  spec_.set_sockets_per_node(1);
  spec_.set_threads_per_core(1);
  EXPECT_TRUE(made().excluded.empty());
  for (const auto set : {&model::JobSpec::set_sockets_per_node, &model::JobSpec::set_cores_per_socket,
                         &model::JobSpec::set_threads_per_core}) {
    model::JobSpec spec;
    (spec.*set)(1000);
    spec_ = spec;
    EXPECT_EQ(make().error().code, 2014);
  }
}

TEST_F(MakeRequest, GpusOfSeveralTypesAreLookedForOnOneNode) {
  *spec_.add_gpus() = testing::make_gres("a100", 1);
  *spec_.add_gpus() = testing::make_gres("h100", 2);
  const auto placement = machine_.place(made());
  ASSERT_TRUE(placement);
  ASSERT_EQ(placement->nodes.size(), 1u);
  EXPECT_EQ(placement->nodes[0].node, *machine_.layout().find_node("g1"));
}

TEST_F(MakeRequest, OvercommittedTasksNeedTheCpusOfOne) {
  spec_.set_ntasks(100);
  EXPECT_EQ(make().error().code, 2005);
  spec_.set_overcommit(true);
  const auto placement = machine_.place(made());
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->nodes[0].cpus, 1u);
  EXPECT_EQ(placement->nodes[0].tasks, 100u);
}

TEST_F(MakeRequest, LicensesAreThoseOfTheMachine) {
  spec_.set_licenses("matlab:2");
  expect_error(2048, "--licenses: there is no license matlab");
  const std::vector<model::NodeRecord> nodes{testing::make_node("c0", 8, 24000)};
  const std::vector<PartitionNodes> partitions{{"debug", {"c0"}}};
  machine_ = Machine::build(nodes, partitions, {{"matlab", 3}}).value();
  const Request request = made();
  const auto first = machine_.place(request);
  ASSERT_TRUE(first);
  machine_.allocate(*first);
  EXPECT_EQ(machine_.free_licenses(0), 1);
  EXPECT_FALSE(machine_.place(request));
  machine_.release(*first);
  EXPECT_TRUE(machine_.place(request));
  spec_.set_licenses("matlab:4");
  expect_error(2048, "--licenses: there are only 3 of matlab");
}

TEST_F(MakeRequest, EitherLicenseWillDo) {
  const std::vector<model::NodeRecord> nodes{testing::make_node("c0", 8, 24000)};
  const std::vector<PartitionNodes> partitions{{"debug", {"c0"}}};
  machine_ = Machine::build(nodes, partitions, {{"ansys", 2}, {"matlab", 3}}).value();
  spec_.set_licenses("matlab:2|ansys");
  const Request request = made();
  const auto first = machine_.place(request);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->licenses, (std::vector<LicenseShare>{{1, 2}}));  // the first that is free
  machine_.allocate(*first);
  const auto second = machine_.place(request);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->licenses, (std::vector<LicenseShare>{{0, 1}}));
  machine_.allocate(*second);
  ASSERT_TRUE(machine_.place(request));
  machine_.allocate(*machine_.place(request));
  EXPECT_FALSE(machine_.place(request));
  spec_.set_licenses("matlab|ansys,ansys");
  expect_error(2048, "Invalid license specification");
}

TEST_F(MakeRequest, ConstraintExpressions) {
  const auto parse = [&](std::string_view text) { return parse_constraint(text, machine_.layout()); };
  using Cases = std::vector<FeatureTerms>;  // gpu 0, fast 1, slow 2
  EXPECT_EQ(parse("fast&gpu&fast").value().cases, (Cases{{{0, 1}}}));
  EXPECT_EQ(parse("slow|gpu").value().cases, (Cases{{{0}, {2}}}));
  EXPECT_EQ(parse("gpu&fast|slow").value().cases, (Cases{{{0, 1}, {2}}}));
  EXPECT_EQ(parse("gpu&(fast|slow)").value().cases, (Cases{{{0, 1}, {0, 2}}}));
  EXPECT_EQ(parse("[fast|slow]").value().cases, (Cases{{{1}}, {{2}}}));
  EXPECT_EQ(parse("gpu&[fast|slow]").value().cases, (Cases{{{0, 1}}, {{0, 2}}}));
  using Counts = std::vector<FeatureCount>;
  EXPECT_EQ(parse("[gpu*2&fast*1]").value().counts, (Counts{{{0}, 2}, {{1}, 1}}));
  EXPECT_EQ(parse("[(gpu&fast)*2&slow*1]").value().counts, (Counts{{{0, 1}, 2}, {{2}, 1}}));
  EXPECT_FALSE(parse("[(gpu|fast)*2&slow*1]"));
  for (const char* bad : {"&", "gpu&", "gpu fast", "(gpu", "gpu)", "gpu*", "gpu*0", "[gpu|fast",
                          "[gpu*2|fast]", "gpu*2|fast", "", "()", "[]", "gpu||fast", "gpu*99999999999"}) {
    ASSERT_FALSE(parse(bad)) << bad;
    EXPECT_EQ(parse(bad).error().code, 2029);
  }
  EXPECT_FALSE(parse(std::string(1000, '(') + "gpu"));
  EXPECT_FALSE(parse(std::string(5000, 'x')));
}

}  // namespace
}  // namespace minke::sched
