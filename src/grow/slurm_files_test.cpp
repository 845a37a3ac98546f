#include "grow/slurm_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grow/testing.h"
#include "text/slurm_conf.h"

namespace minke::grow {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Machine> two() {
  return {machine_named("box", ""), machine_named("n1", "root@n1")};
}

TEST(SlurmFiles, SlurmConfHasAllMachinesInAllPartitions) {
  Notes notes;
  const std::string text = slurm_conf(configuration_of_box(), grown_of(two()), notes);
  EXPECT_TRUE(text::parse_slurm_conf(text).has_value());
  EXPECT_THAT(text, HasSubstr("ClusterName=lab\nSlurmctldHost=box(10.0.0.1)\n"));
  // The head offers no more memory than it did; a new machine a little less than it has.
  EXPECT_THAT(
      text,
      HasSubstr(
          "NodeName=box NodeAddr=10.0.0.1 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=15000 "));
  EXPECT_THAT(
      text,
      HasSubstr(
          "NodeName=n1 NodeAddr=10.0.0.2 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=15840 "));
  EXPECT_THAT(text, HasSubstr("PartitionName=main Nodes=box,n1 Default=YES State=UP\n"));
  EXPECT_THAT(text, HasSubstr("FirstJobId=1\n"));
  EXPECT_THAT(text, HasSubstr("ProctrackType=proctrack/cgroup\n"));
}

TEST(SlurmFiles, AHeadWithoutJobsIsNoNode) {
  Notes notes;
  Grown grown = grown_of(two());
  grown.head_computes = false;
  const std::string text = slurm_conf(configuration_of_box(), grown, notes);
  EXPECT_THAT(text, Not(HasSubstr("NodeName=box")));
  EXPECT_THAT(text, HasSubstr("Nodes=n1 "));
}

TEST(SlurmFiles, WithoutControlGroupsOnOneMachineNoneUsesThem) {
  Notes notes;
  std::vector<Machine> machines = two();
  machines[1].services = "sysvinit";
  const auto cgroup = [&](const char* version) {
    machines[0].packages["slurmd"] = {version, version};
    for (const File& file : slurm_files(configuration_of_box(), grown_of(machines), notes))
      if (file.path == "/etc/slurm/cgroup.conf") return file.content;
    return std::string();
  };
  EXPECT_THAT(cgroup("24.11.5-4"), HasSubstr("CgroupPlugin=disabled\n"));
  EXPECT_THAT(cgroup("22.05.8-4"), Not(HasSubstr("CgroupPlugin")));
  EXPECT_THAT(notes, Contains(HasSubstr("control groups")));
  EXPECT_THAT(slurm_conf(configuration_of_box(), grown_of(machines), notes),
              HasSubstr("ProctrackType=proctrack/linuxproc\n"));
}

TEST(SlurmFiles, PrivateTmpIsCalledAsTheReleaseCallsIt) {
  config::Configuration config = configuration_of_box();
  config.private_tmp = true;
  Notes notes;
  std::vector<Machine> machines = two();
  EXPECT_THAT(slurm_conf(config, grown_of(machines), notes),
              HasSubstr("JobContainerType=job_container/tmpfs\nPrologFlags=Contain\n"));
  machines[0].packages["slurmd"] = {"26.05.5-1", ""};
  EXPECT_THAT(slurm_conf(config, grown_of(machines), notes), HasSubstr("NamespaceType=namespace/tmpfs\n"));
}

TEST(SlurmFiles, GpusAreInGresConfAndOfTheMachinesThatHaveThem) {
  std::vector<Machine> machines = two();
  machines[1].gpus = {{"h100", "NVIDIA H100", "/dev/nvidia0", false},
                      {"h100", "NVIDIA H100", "/dev/nvidia1", true}};
  config::Configuration config = configuration_of_box();
  config.billing = {{"main", {{{"cpu", 0.5}, {"gres/gpu:h100", 12}, {"gres/gpu:p100", 1}}, true}}};
  Notes notes;
  const Grown grown = grown_of(machines);
  EXPECT_THAT(gres_conf(grown), HasSubstr("NodeName=n1 Name=gpu Type=h100 File=/dev/nvidia0\n"));
  EXPECT_THAT(gres_conf(grown), Not(HasSubstr("nvidia1")));
  const std::string text = slurm_conf(config, grown, notes);
  EXPECT_THAT(text, HasSubstr(" Gres=gpu:h100:1"));
  EXPECT_THAT(text, HasSubstr("TRESBillingWeights=cpu=0.5,gres/gpu:h100=12 "));
  EXPECT_THAT(text, HasSubstr("PriorityFlags=MAX_TRES\n"));
  EXPECT_THAT(notes, Contains(HasSubstr("MIG")));
}

TEST(SlurmFiles, MigInstancesAreGpusOfTheirOwnType) {
  std::vector<Machine> machines = two();
  machines[1].gpus = {{"h100", "NVIDIA H100", "/dev/nvidia0", true}};
  const std::string caps = "/dev/nvidia-caps/nvidia-cap";
  machines[1].gpus[0].instances = {{"3g.40gb", caps + "21", caps + "22"},
                                   {"3g.40gb", caps + "30", caps + "31"},
                                   {"1g.10gb", caps + "66", caps + "67"}};
  Notes notes;
  const Grown grown = grown_of(machines);
  const std::string gres = gres_conf(grown);
  EXPECT_THAT(gres, HasSubstr("NodeName=n1 Name=gpu Type=h100_1g.10gb MultipleFiles=/dev/nvidia0," + caps +
                              "66," + caps + "67\n"));
  EXPECT_THAT(gres, Not(HasSubstr(" File=")));
  const std::string text = slurm_conf(configuration_of_box(), grown, notes);
  EXPECT_THAT(text, HasSubstr(" Gres=gpu:h100_1g.10gb:1,gpu:h100_3g.40gb:2"));
  EXPECT_THAT(text, HasSubstr("gres/gpu:h100_3g.40gb"));
  EXPECT_THAT(notes, Not(Contains(HasSubstr("MIG"))));
}

TEST(SlurmFiles, SwitchesThatTheMachinesNameMakeATopology) {
  std::vector<Machine> machines = two();
  Notes notes;
  EXPECT_EQ(topology_conf(grown_of(machines), notes), "");
  machines[0].network_switch = "rack1";
  EXPECT_EQ(topology_conf(grown_of(machines), notes), "");
  EXPECT_THAT(notes, Contains(HasSubstr("which switch n1 has is not known")));
  machines[1].network_switch = "rack2";
  EXPECT_THAT(topology_conf(grown_of(machines), notes),
              HasSubstr("SwitchName=rack1 Nodes=box\nSwitchName=rack2 Nodes=n1\nSwitchName=minke-top "
                        "Switches=rack1,rack2\n"));
  EXPECT_THAT(slurm_conf(configuration_of_box(), grown_of(machines), notes),
              HasSubstr("TopologyPlugin=topology/tree\n"));
  // A file of the site's comes first, if it is about these machines.
  Grown grown = grown_of(machines);
  grown.topology = "SwitchName=a Nodes=box\nSwitchName=b Nodes=n1\nSwitchName=c Switches=a,b\n";
  EXPECT_THAT(topology_conf(grown, notes), HasSubstr("SwitchName=a Nodes=box\n"));
  grown.topology = "SwitchName=a Nodes=v[1-4]\n";
  EXPECT_THAT(topology_conf(grown, notes), HasSubstr("SwitchName=rack1"));
  EXPECT_THAT(notes, Contains(HasSubstr("names v[1-4]")));
}

TEST(SlurmFiles, NodesThatWereOnlyCountedAreGoneAndThatIsSaid) {
  config::Configuration config = configuration_of_box();
  config.nodes[0].set_name("v1");
  config.nodes[0].set_is_virtual(true);
  Grown grown = grown_of(two());
  grown.partitions[0].set_nodes("v1");
  Notes notes;
  EXPECT_THAT(partition_lines(config, grown, notes), HasSubstr("Nodes=box,n1 "));
  EXPECT_THAT(node_lines(config, grown, notes), Not(HasSubstr("v1")));
  EXPECT_THAT(notes, Contains(HasSubstr("the nodes v1 were counted")));
}

TEST(SlurmFiles, PriorityAndPreemptionAreInSlurmsWords) {
  config::Configuration config = configuration_of_box();
  config.priority.multifactor = true;
  config.priority.weights.fair_share = 10000;
  config.preemption = {config::PreemptType::kQos, config::PreemptMode::kSuspend};
  config.accounting.associations = config.accounting.limits = true;
  config.licenses = {{"matlab", 4}, {"ansys", 2}};
  Notes notes;
  const std::string text = slurm_conf(config, grown_of(two()), notes);
  for (const char* line : {"PriorityWeightFairshare=10000\n", "PriorityDecayHalfLife=7-00:00:00\n",
                           "PreemptType=preempt/qos\n", "PreemptMode=SUSPEND,GANG\n",
                           "AccountingStorageEnforce=associations,limits\n", "Licenses=matlab:4,ansys:2\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(SlurmFiles, TimeClassesBecomeAJobSubmitScript) {
  config::Configuration config = configuration_of_box();
  Notes notes;
  EXPECT_EQ(job_submit_lua(config, grown_of(two())), "");
  config.serves["main"] = {"cpu", "interactive"};
  EXPECT_THAT(job_submit_lua(config, grown_of(two())),
              HasSubstr("{name = \"main\", limit = 4294967295, cpus = 8, gpus = false, cpu = true, gpu = "
                        "false, whole = false, "
                        "interactive = true}"));
  EXPECT_THAT(slurm_conf(config, grown_of(two()), notes), HasSubstr("JobSubmitPlugins=lua\n"));
}

TEST(SlurmFiles, APrologWithASignOfTheShellsIsNotCarried) {
  config::Configuration config = configuration_of_box();
  config.prologs.prolog = {"/etc/minke/prolog.d/*", "/etc/x; reboot"};
  Notes notes;
  for (const File& file : slurm_files(config, grown_of(two()), notes)) {
    if (file.path != "/etc/slurm/minke-prolog.sh") continue;
    EXPECT_THAT(file.content, HasSubstr("for program in /etc/minke/prolog.d/*; do"));
    EXPECT_THAT(file.content, Not(HasSubstr("reboot")));
  }
  EXPECT_THAT(notes, Contains(HasSubstr("/etc/x; reboot")));
}

}  // namespace
}  // namespace minke::grow
