// minke.toml: what it may contain, and the messages for mistakes in it.
#include "config/configuration.h"

#include <gtest/gtest.h>

#include "config/testing.h"

namespace minke::config {
namespace {

model::NodeRecord machine() {
  return testing::machine_of_four_cpus();
}

Configuration parse(const std::string& text) {
  auto config = parse_configuration(text, "minke.toml", machine());
  EXPECT_TRUE(config.has_value()) << (config ? "" : config.error().message);
  return config ? *config : Configuration();
}

std::string problem(const std::string& text) {
  const auto config = parse_configuration(text, "minke.toml", machine());
  EXPECT_FALSE(config.has_value()) << text;
  return config ? "" : config.error().message;
}

TEST(Configuration, NothingMeansThisMachineAndOnePartition) {
  const Configuration config = parse("");
  ASSERT_EQ(config.nodes.size(), 1u);
  EXPECT_EQ(config.nodes[0].name(), "here");
  EXPECT_EQ(config.nodes[0].weight(), 1u);
  ASSERT_EQ(config.partitions.size(), 1u);
  EXPECT_TRUE(config.partitions[0].is_default());
  EXPECT_EQ(config.partitions[0].nodes(), "here");
  EXPECT_EQ(config.partitions[0].max_time_minutes(), 0xffffffffu);
}

TEST(Configuration, DeclaresVirtualNodesWithTypedGpus) {
  const Configuration config = parse(R"(
cluster_name = "lab"
kill_wait = 5
mpi_default = "pmix"
[[node]]
name = "n[1-3]"
cpus = 8
memory = "32G"
features = ["a100", "nvlink"]
gpus = ["a100:2", "v100:1"]
gres = "nic:2"
[[partition]]
name = "short"
max_time = "3:00:00"
default_time = 10
nodes = "n[1-2]"
[[partition]]
name = "long"
default = true
)");
  EXPECT_EQ(config.cluster_name, "lab");
  EXPECT_EQ(config.kill_wait_seconds, 5u);
  EXPECT_EQ(config.mpi_default, "pmix");
  ASSERT_EQ(config.nodes.size(), 3u);
  EXPECT_EQ(config.nodes[2].name(), "n3");
  EXPECT_TRUE(config.nodes[2].is_virtual());
  EXPECT_EQ(config.nodes[2].cpus(), 8u);
  EXPECT_EQ(config.nodes[2].cores_per_socket(), 8u);
  EXPECT_EQ(config.nodes[2].memory_mib(), 32768u);
  ASSERT_EQ(config.nodes[2].gres_size(), 3);
  EXPECT_EQ(config.nodes[2].gres(2).name(), "nic");
  EXPECT_EQ(config.nodes[2].gres(0).type(), "a100");
  EXPECT_EQ(config.nodes[2].gres(0).count(), 2u);
  EXPECT_TRUE(config.nodes[2].virtual_gres());
  ASSERT_EQ(config.partitions.size(), 2u);
  EXPECT_EQ(config.partitions[0].max_time_minutes(), 180u);
  EXPECT_EQ(config.partitions[0].default_time_minutes(), 10u);
  EXPECT_EQ(config.partitions[0].nodes(), "n[1-2]");
  EXPECT_EQ(config.partitions[1].nodes(), "n[1-3]");
  EXPECT_FALSE(config.partitions[0].is_default());
}

TEST(Configuration, ReadsWhoMayUseWhatAndWhoIsServedFirst) {
  const auto config = parse(R"(
[accounting]
enforce = ["safe", "qos"]
[priority]
type = "multifactor"
weight_age = 1000
weight_tres = "CPU=1000,GRES/gpu=3000"
half_life = "14-0"
usage_reset = "yearly"
[[partition]]
name = "main"
default = true
billing_weights = "CPU=1.0,Mem=0.25G"
billing_rule = "max"
)");
  EXPECT_TRUE(config.accounting.associations && config.accounting.limits && config.accounting.safe &&
              config.accounting.qos);
  EXPECT_TRUE(config.priority.multifactor);
  EXPECT_EQ(config.priority.weights.age, 1000u);
  EXPECT_EQ(config.priority.tres.each.size(), 2u);
  EXPECT_EQ(config.priority.half_life, 14 * 86400);
  EXPECT_EQ(config.priority.reset, UsageReset::kYearly);
  ASSERT_EQ(config.billing.size(), 1u);
  EXPECT_TRUE(config.billing[0].second.maximum);
  EXPECT_EQ(problem("[accounting]\nenforce = \"all\"\n").rfind("minke.toml:2: enforce", 0), 0u);
  EXPECT_EQ(problem("\n[priority]\nhalf_life = \"soon\"\n").rfind("minke.toml:3: half_life", 0), 0u);
  EXPECT_NE(problem("[priority]\nwight_age = 3\n").find("wight_age is not known in [priority]"),
            std::string::npos);
}

TEST(Configuration, Containers) {
  const auto containers =
      parse("[containers]\nruntime = \"runc\"\nmounts = [\"/data:/d:ro\", \"/scratch\"]\n").containers;
  EXPECT_EQ(containers.runtime, "runc");
  EXPECT_EQ(containers.mounts, "/data:/d:ro,/scratch");
  for (const char* wrong :
       {"runtime = \"podman\"", "mounts = \"data\"", "mounts = \"/a:b\"", "mounts = \"/a,/b\""})
    EXPECT_NE(problem(std::string("[containers]\n") + wrong).find("must be"), std::string::npos) << wrong;
}

TEST(Configuration, ThePortalsFiguresAreChecked) {
  parse("[portal]\nmessages = [\"a\", \"b\"]\ncore_hour = 1\nkwh = 0.5\ncurrency = \"CAD\"\n");
  parse("[portal]\nmessages = \"one\"\n");
  EXPECT_EQ(problem("[portal]\ncore_hour = -1\n").substr(0, 36), "minke.toml:2: core_hour must be a nu");
  EXPECT_NE(problem("[portal]\ngpu_hour = \"1\"\n").find("gpu_hour must be a number"), std::string::npos);
  EXPECT_NE(problem("[portal]\ngpu_hour = nan\n").find("gpu_hour must be a number"), std::string::npos);
  EXPECT_NE(problem("[portal]\nmessages = [\"\"]\n").find("messages must be"), std::string::npos);
  EXPECT_NE(problem("[portal]\nnosuch = 1\n").find("nosuch is not known in [portal]"), std::string::npos);
}

TEST(Configuration, NamesFileLineAndKeyOfAMistake) {
  EXPECT_EQ(problem("\nclustername = \"x\"\n").rfind("minke.toml:2: clustername is not known", 0), 0u);
  EXPECT_NE(problem("kill_wait = -1").find("minke.toml:1: kill_wait must be a number"), std::string::npos);
  EXPECT_NE(problem("[[node]]\ncpus = 2\n").find("needs a name"), std::string::npos);
  EXPECT_NE(problem("[[node]]\nname = \"a\"\nmemory = \"lots\"\n").find("minke.toml:3: memory"),
            std::string::npos);
  EXPECT_NE(problem("[[node]]\nname = \"a,a\"\n").find("two nodes a"), std::string::npos);
  EXPECT_NE(problem("[[partition]]\nname = \"p\"\nnodes = \"x\"\n").find("names node x"), std::string::npos);
  EXPECT_NE(problem("[[partition]]\nname = \"p\"\n[[partition]]\nname = \"p\"\n").find("two partitions p"),
            std::string::npos);
  EXPECT_NE(problem("[[partition]]\nname=\"p\"\ndefault=true\n[[partition]]\nname=\"q\"\ndefault=true\n")
                .find("more than one partition is the default"),
            std::string::npos);
  EXPECT_NE(problem("node = 3").find("[[node]]"), std::string::npos);
  EXPECT_EQ(problem("this is not toml").rfind("minke.toml:1: ", 0), 0u);
  EXPECT_NE(problem("[[node]]\nname = \"a\"\ngpus = \"513\"\n").find("512"), std::string::npos);
  EXPECT_NE(problem("[[node]]\nname = \"a\"\ngres = \"nic:1073741825\"\n").find("1073741824 nic"),
            std::string::npos);
  EXPECT_NE(problem("[[node]]\nname = \"a\"\ngres = \"gpu:1\"\n").find("gpus"), std::string::npos);
}

}  // namespace
}  // namespace minke::config
