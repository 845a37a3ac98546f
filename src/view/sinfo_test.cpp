#include "view/sinfo.h"

#include <gtest/gtest.h>

#include "model/cluster.pb.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

class Sinfo : public testing::Test {
 protected:
  void SetUp() override {
    test::use_utc();
    nodes_ = {test::node("n1", true), test::node("n2", true), test::node("n3", false)};
    partitions_ = {test::partition("main", true), test::partition("short", false)};
    // n1 is full, n2 half used, n3 drained.
    nodes_[0].set_allocated_cpus(4);
    nodes_[0].set_running_jobs(1);
    nodes_[1].set_allocated_cpus(2);
    nodes_[1].set_running_jobs(1);
    nodes_[2].set_state(model::NODE_DRAIN);
    nodes_[2].set_reason("r1");
    nodes_[2].set_reason_time(test::at(0, 46, 4));
  }

  std::string listing(const SinfoOptions& options) {
    std::vector<const model::NodeRecord*> nodes;
    for (const auto& node : nodes_) nodes.push_back(&node);
    std::vector<const model::PartitionRecord*> partitions;
    for (const auto& partition : partitions_) partitions.push_back(&partition);
    problems_.clear();
    Table<NodeLine> table = node_table(options, nodes, partitions, problems_);
    std::string out;
    if (!options.no_header) table.append_header(out);
    for (const NodeLine& line : node_lines(options, table, nodes, partitions, context_))
      table.append_line(line, context_, out);
    return out;
  }
  std::string formatted(const char* format) {
    SinfoOptions options;
    options.no_header = true;
    options.format = format;
    return listing(options);
  }

  std::vector<model::NodeRecord> nodes_;
  std::vector<model::PartitionRecord> partitions_;
  std::vector<std::string> problems_;
  DisplayContext context_ = test::context_at(0, 46, 8);
};

TEST_F(Sinfo, GroupsNodesByPartitionAndState) {
  EXPECT_EQ(listing({}),
            "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
            "main*        up   infinite      1  drain n3\n"
            "main*        up   infinite      1    mix n2\n"
            "main*        up   infinite      1  alloc n1\n"
            "short        up    3:00:00      1    mix n2\n"
            "short        up    3:00:00      1  alloc n1\n");
}

TEST_F(Sinfo, DrainingNodes) {
  nodes_[1].set_state(model::NODE_DRAIN);
  SinfoOptions options;
  EXPECT_EQ(listing(options),
            "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
            "main*        up   infinite      1   drng n2\n"
            "main*        up   infinite      1  drain n3\n"
            "main*        up   infinite      1  alloc n1\n"
            "short        up    3:00:00      1   drng n2\n"
            "short        up    3:00:00      1  alloc n1\n");
  options.no_header = true;
  options.states = *parse_node_states("drain");
  EXPECT_EQ(listing(options),
            "main*        up   infinite      1   drng n2\n"
            "main*        up   infinite      1  drain n3\n"
            "short        up    3:00:00      1   drng n2\n");
  options.states = *parse_node_states("alloc");
  EXPECT_EQ(listing(options),
            "main*        up   infinite      1   drng n2\n"
            "main*        up   infinite      1  alloc n1\n"
            "short        up    3:00:00      1   drng n2\n"
            "short        up    3:00:00      1  alloc n1\n");
  options.states = *parse_node_states("mix");
  EXPECT_EQ(listing(options),
            "main*        up   infinite      0    n/a \n"
            "short        up    3:00:00      0    n/a \n");
}

TEST_F(Sinfo, SummaryLongAndNodeFormats) {
  SinfoOptions options;
  options.summarize = true;
  EXPECT_EQ(listing(options),
            "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST\n"
            "main*        up   infinite          2/0/1/3 n[1-3]\n"
            "short        up    3:00:00          2/0/0/2 n[1-2]\n");
  nodes_[2] = test::node("n3", false);
  nodes_[2].set_allocated_cpus(1);
  nodes_[1].set_allocated_cpus(4);
  options = SinfoOptions();
  options.long_list = true;
  context_.release = kSlurm26;
  EXPECT_EQ(
      listing(options),
      "PARTITION AVAIL  TIMELIMIT   JOB_SIZE ROOT OVERSUBS     GROUPS  NODES       STATE RESERVATION "
      "NODELIST\n"
      "main*        up   infinite 1-infinite   no       NO        all      1       mixed             n3\n"
      "main*        up   infinite 1-infinite   no       NO        all      2   allocated             n[1-2]\n"
      "short        up    3:00:00 1-infinite   no       NO        all      2   allocated             "
      "n[1-2]\n");
  options.node_oriented = true;
  EXPECT_EQ(listing(options),
            "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON     "
            "         \n"
            "n1             1     main*   allocated 4       1:4:1   4000        0      1 skylake, none       "
            "         \n"
            "n1             1     short   allocated 4       1:4:1   4000        0      1 skylake, none       "
            "         \n"
            "n2             1     main*   allocated 4       1:4:1   4000        0      1 skylake, none       "
            "         \n"
            "n2             1     short   allocated 4       1:4:1   4000        0      1 skylake, none       "
            "         \n"
            "n3             1     main*       mixed 2       1:2:1   2000        0      1   (null) none       "
            "         \n");
  options.long_list = false;
  options.partitions = {"short"};
  EXPECT_EQ(listing(options),
            "NODELIST   NODES PARTITION STATE \n"
            "n1             1     short alloc \n"
            "n2             1     short alloc \n");
}

TEST_F(Sinfo, Reasons) {
  SinfoOptions options;
  options.list_reasons = true;
  EXPECT_EQ(listing(options),
            "REASON               USER      TIMESTAMP           NODELIST\n"
            "r1                   root      2026-11-21T00:46:04 n3\n");
  options.long_list = true;
  EXPECT_EQ(listing(options),
            "REASON               USER         TIMESTAMP           STATE  NODELIST\n"
            "r1                   root(0)      2026-11-21T00:46:04 drain  n3\n");
}

TEST_F(Sinfo, CountsEachNodeOnceWhereNoPartitionIsShown) {
  EXPECT_EQ(formatted("%F/%C"), "2/0/1/3/6/2/2/10\n");
  EXPECT_EQ(formatted("%D %A"), "3 2/0\n");
}

TEST_F(Sinfo, NumbersSpanALineUnlessExact) {
  EXPECT_EQ(formatted("%c %m"), "2+ 2000+\n");
  SinfoOptions options;
  options.no_header = true;
  options.exact = true;
  options.format = "%c %m %D";
  options.sort = "c";
  EXPECT_EQ(listing(options), "2 2000 1\n4 4000 2\n");
}

TEST_F(Sinfo, FormatsThatClientsUse) {
  SinfoOptions options;
  options.no_header = true;
  options.node_oriented = true;
  options.long_format = "nodehost:10,gres:12,gresused:20,statelong";
  options.partitions = {"main"};
  EXPECT_EQ(listing(options),
            "localhost gpu:a100:2  gpu:a100:0(IDX:N/A) allocated           \n"
            "localhost gpu:a100:2  gpu:a100:0(IDX:N/A) mixed               \n"
            "localhost (null)      gpu:0               drained             \n");
  options.long_format.reset();
  options.format = "%R#%N#%t";
  EXPECT_EQ(listing(options), "main#n1#alloc\nmain#n2#mix\nmain#n3#drain\n");
}

TEST_F(Sinfo, PartitionsWithoutTheNodesAskedFor) {
  SinfoOptions options;
  options.no_header = true;
  options.filter_nodes = true;
  options.nodes = {"n3", "n9"};
  EXPECT_EQ(listing(options),
            "main*        up   infinite      1  drain n3\n"
            "short        up    3:00:00      0    n/a \n");
  options.node_oriented = true;
  EXPECT_EQ(listing(options), "n3             1     main* drain \n");
}

TEST_F(Sinfo, LongPartitionNamesWidenTheirColumn) {
  partitions_[1].set_name("gpubase_bycore_b1");
  nodes_[0].add_partitions("gpubase_bycore_b1");
  SinfoOptions options;
  options.partitions = {"gpubase_bycore_b1"};
  EXPECT_EQ(listing(options),
            "PARTITION         AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
            "gpubase_bycore_b1    up    3:00:00      1  alloc n1\n");
}

TEST_F(Sinfo, SortsAsAsked) {
  partitions_[1].set_name("batch");  // first by name, but not in the configuration
  nodes_[0].set_partitions(1, "batch");
  nodes_[1].set_partitions(1, "batch");
  SinfoOptions options;
  options.no_header = true;
  options.format = "%R %N %t";
  const auto sorted = [&](const char* sort) {
    options.sort = sort;
    return listing(options);
  };
  EXPECT_EQ(sorted("P,N"), "batch n1 alloc\nbatch n2 mix\nmain n1 alloc\nmain n2 mix\nmain n3 drain\n");
  EXPECT_EQ(sorted("#P,-N"), "main n3 drain\nmain n2 mix\nmain n1 alloc\nbatch n2 mix\nbatch n1 alloc\n");
  EXPECT_EQ(sorted("-#P,N"), "batch n1 alloc\nbatch n2 mix\nmain n1 alloc\nmain n2 mix\nmain n3 drain\n");
  EXPECT_EQ(sorted("-E,c,P,n"), "main n3 drain\nbatch n1 alloc\nbatch n2 mix\nmain n1 alloc\nmain n2 mix\n");
  EXPECT_EQ(sorted("z,l,-p,N"), "batch n1 alloc\nbatch n2 mix\nmain n1 alloc\nmain n2 mix\nmain n3 drain\n");
}

TEST_F(Sinfo, UnknownFieldsAndStates) {
  EXPECT_EQ(formatted("%!|%P"), "%!|main*\n%!|short\n");
  EXPECT_EQ(problems_, std::vector<std::string>{"!"});
  EXPECT_FALSE(parse_node_states("~bogus"));
  EXPECT_EQ(parse_node_states("bogus").error().message, "Bad state string: \"bogus\"");
  EXPECT_TRUE(parse_node_states("all")->empty());
  EXPECT_EQ(parse_node_states("IDLE&drain,mix")->size(), 2u);
}

}  // namespace
}  // namespace minke::view
