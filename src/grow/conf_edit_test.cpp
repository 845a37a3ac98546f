#include "grow/conf_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace minke::grow {
namespace {

constexpr char kConf[] =
    "# NodeName=old\nClusterName=lab\nnodename=DEFAULT CPUs=4\nNodeName=head NodeAddr=10.0.0.1 "
    "CPUs=4\nNodeName=n[1-2] CPUs=4\n"
    "PartitionName=main Nodes=head,n[1-2] Default=YES State=UP\nPartitionName=some "
    "Nodes=n1,n2\nPartitionName=any Nodes=ALL\n"
    "PartitionName=lone Nodes=head\n";

TEST(ConfEdit, ANewNodeGetsALineAndTheDefaultPartition) {
  const auto text = with_node(kConf, "n3", "NodeName=n3 NodeAddr=10.0.0.4 CPUs=8");
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text,
            "# NodeName=old\nClusterName=lab\nnodename=DEFAULT CPUs=4\nNodeName=head NodeAddr=10.0.0.1 "
            "CPUs=4\nNodeName=n[1-2] CPUs=4\n"
            "NodeName=n3 NodeAddr=10.0.0.4 CPUs=8\n"
            "PartitionName=main Nodes=head,n[1-3] Default=YES State=UP\nPartitionName=some "
            "Nodes=n1,n2\nPartitionName=any Nodes=ALL\n"
            "PartitionName=lone Nodes=head\n");
  EXPECT_EQ(*with_node(*text, "n3", "NodeName=n3 CPUs=8"), *text);
  EXPECT_EQ(*without_node(*text, "n3"), kConf);
}

TEST(ConfEdit, ANodeGoesFromItsLineAndItsPartitions) {
  const auto text = without_node(kConf, "n2");
  ASSERT_TRUE(text.has_value());
  EXPECT_THAT(*text, ::testing::HasSubstr(
                         "NodeName=n1 CPUs=4\nPartitionName=main Nodes=head,n1 Default=YES State=UP\n"
                         "PartitionName=some Nodes=n1\n"));
  EXPECT_EQ(node_names(*text), (std::vector<std::string>{"head", "n1"}));
  EXPECT_EQ(*without_node(kConf, "n9"), kConf);
}

TEST(ConfEdit, WhatCannotBeChangedWithCertaintyIsSaid) {
  for (const auto& [conf, name, words] :
       {std::tuple{kConf, "head", "partition lone would have no nodes"},
        {"NodeName=n[1-2] NodeAddr=10.0.0.[1-2]\n", "n1", "a line of its own first"},
        {"NodeName=n[1-2] \\\n CPUs=4\n", "n1", "behind a backslash"}}) {
    const auto text = without_node(conf, name);
    ASSERT_FALSE(text.has_value()) << words;
    EXPECT_THAT(text.error().message, ::testing::HasSubstr(words));
  }
  EXPECT_FALSE(with_node("PartitionName=a Nodes=n1 \\\n Default=YES\n", "n2", "NodeName=n2").has_value());
}

TEST(ConfEdit, ANewNodeGetsItsSwitch) {
  constexpr char kTree[] =
      "# mine\nSwitchName=leaf1 Nodes=head,n1\nSwitchName=leaf2 Nodes=n2\nSwitchName=top "
      "Switches=leaf[1-2]\n";
  EXPECT_EQ(*topology_with_node(kTree, "n3", "leaf2"),
            "# mine\nSwitchName=leaf1 Nodes=head,n1\nSwitchName=leaf2 Nodes=n[2-3]\nSwitchName=top "
            "Switches=leaf[1-2]\n");
  const auto other = topology_with_node(kTree, "n3", "leaf3");
  EXPECT_EQ(*other,
            "# mine\nSwitchName=leaf1 Nodes=head,n1\nSwitchName=leaf2 Nodes=n2\nSwitchName=top "
            "Switches=leaf[1-3]\nSwitchName=leaf3 Nodes=n3\n");
  EXPECT_EQ(topology_without_node(*other, "n3"), kTree);
  EXPECT_EQ(*topology_with_node(kTree, "n3", ""),
            "# mine\nSwitchName=leaf1 Nodes=head,n1\nSwitchName=leaf2 Nodes=n2\nSwitchName=top "
            "Switches=leaf[1-2],minke-n3\nSwitchName=minke-n3 Nodes=n3\n");
  EXPECT_EQ(*topology_with_node(kTree, "n2", "leaf1"), kTree);
  EXPECT_EQ(*topology_with_node("SwitchName=s1 Nodes=head\n", "n1", "s2"),
            "SwitchName=s1 Nodes=head\nSwitchName=s2 Nodes=n1\nSwitchName=minke-top Switches=s[1-2]\n");
  EXPECT_FALSE(topology_with_node("BlockName=b1 Nodes=head,n1\n", "n2", "").has_value());
}

TEST(ConfEdit, ASwitchWithNothingBehindItGoes) {
  EXPECT_EQ(topology_without_node("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[2-3]\nSwitchName=m "
                                  "Switches=a\nSwitchName=t Switches=b,m\n",
                                  "n1"),
            "SwitchName=b Nodes=n[2-3]\nSwitchName=t Switches=b\n");
  EXPECT_EQ(topology_without_node("BlockName=b1 Nodes=n[1-2]\n", "n1"), "BlockName=b1 Nodes=n2\n");
}

}  // namespace
}  // namespace minke::grow
